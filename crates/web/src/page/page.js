"use strict";
// Everything that others named goes into the page as text (textContent), never as markup.
(() => {
  const POINTS = 360;
  const EVERY_MS = 10000;
  const at = (id) => document.getElementById(id);
  const history = new Map();
  const titles = [...document.querySelectorAll("thead th")].map((title) => title.textContent);

  const bytes = (value) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let rest = Math.abs(value);
    let unit = 0;
    while (rest >= 1024 && unit + 1 < units.length) {
      rest /= 1024;
      unit += 1;
    }
    return `${value < 0 ? "-" : ""}${Number(rest.toPrecision(3))} ${units[unit]}`;
  };
  const percent = (share) => `${Number((share * 100).toPrecision(2))} %`;
  const sum = (target, of) => target.instances.reduce((all, one) => all + of(one), 0);

  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const shape = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // The memory of a target within the last hour; the top is the most that it had in both places.
  const line = (target) => {
    const points = history.get(target.name) ?? [];
    const most = Math.max(1, ...points.map((point) => point.resident + point.swapped));
    const end = points.at(-1)?.time_ms ?? 0;
    const x = (point) => 100 - ((end - point.time_ms) / (POINTS * EVERY_MS)) * 100;
    const y = (point) => 30 - (point.resident / most) * 29;
    const path = points.map((point) => `${x(point).toFixed(2)},${y(point).toFixed(2)}`).join(" ");
    const first = points[0]?.resident ?? 0;
    const last = points.at(-1)?.resident ?? 0;
    const picture = shape("svg", {
      viewBox: "0 0 100 30",
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `DRAM went from ${bytes(first)} to ${bytes(last)}; it has ${bytes(most)} at most`,
    });
    if (points.length > 1) {
      picture.append(
        shape("polygon", { class: "area", points: `${x(points[0]).toFixed(2)},30 ${path} 100,30` }),
        shape("polyline", { class: "dram", points: path }),
      );
    }
    return picture;
  };

  const duration = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);
  const sentence = (level) =>
    `At ${bytes(level.dram)} it stalled ${percent(level.stalled)} (${level.looks} looks in ${duration(level.watched_s)}).`;

  // The picture of a curve: DRAM to the right, stalls upwards; a dot a level, the larger the longer it was looked at.
  const plot = (levels, chosen, limit, name) => {
    const [left, right, top, bottom] = [14, 306, 12, 96];
    const most = Math.max(0.001, limit ?? 0, ...levels.map((level) => level.stalled)) * 1.1;
    const least = levels[0].dram;
    const span = levels.at(-1).dram - least;
    const x = (level) => (span > 0 ? left + ((level.dram - least) / span) * (right - left) : (left + right) / 2);
    const y = (share) => bottom - (share / most) * (bottom - top);
    const longest = Math.max(...levels.map((level) => level.watched_s));
    const picture = shape("svg", {
      viewBox: "0 0 320 112",
      role: "img",
      "aria-label": `${name}, measured, last hour: ${levels.map(sentence).join(" ")}`,
    });
    const text = (label, at, anchor) => {
      const made = shape("text", { ...at, "text-anchor": anchor });
      made.textContent = label;
      return made;
    };
    picture.append(shape("line", { class: "axis", x1: 4, x2: 316, y1: bottom, y2: bottom }));
    if (limit !== null) {
      const line = shape("line", { class: "limit", x1: 4, x2: 316, y1: y(limit), y2: y(limit) });
      picture.append(line, text(`limit ${percent(limit)}`, { x: 316, y: y(limit) - 3 }, "end"));
    }
    const path = levels.map((level) => `${x(level).toFixed(1)},${y(level.stalled).toFixed(1)}`).join(" ");
    picture.append(shape("polyline", { class: "dram", points: path }));
    levels.forEach((level, index) => {
      picture.append(shape("circle", {
        class: index === chosen ? "chosen" : "level",
        cx: x(level), cy: y(level.stalled), r: 2.5 + 3 * Math.sqrt(level.watched_s / longest),
      }));
    });
    picture.append(text(bytes(least), { x: 4, y: 109 }, "start"));
    if (span > 0) picture.append(text(bytes(levels.at(-1).dram), { x: 316, y: 109 }, "end"));
    return picture;
  };

  const nearest = (levels, dram) => levels.reduce(
    (best, level, index) => (Math.abs(level.dram - dram) < Math.abs(levels[best].dram - dram) ? index : best), 0);

  // The figure of a target's curve. It stays while the target does, so that the slider keeps the focus.
  const figures = new Map();
  const figure = (name) => {
    const made = { root: element("figure"), levels: [], limit: null, now: 0, asked: null };
    made.slider = element("input");
    Object.assign(made.slider, { type: "range", min: 0, step: 1 });
    made.slider.setAttribute("aria-label", `amount of DRAM of ${name}`);
    made.picture = element("div");
    made.said = element("p");
    made.draw = () => {
      const { levels, asked } = made;
      made.root.hidden = levels.length === 0;
      if (levels.length === 0) return;
      // Until somebody chooses, it is what the target holds now.
      const chosen = nearest(levels, asked ?? made.now);
      made.slider.max = levels.length - 1;
      made.slider.value = chosen;
      made.slider.disabled = levels.length === 1;
      made.slider.setAttribute("aria-valuetext", sentence(levels[chosen]));
      made.said.textContent = sentence(levels[chosen]);
      made.picture.replaceChildren(plot(levels, chosen, made.limit, name));
    };
    made.slider.oninput = () => {
      made.asked = made.levels[made.slider.value].dram;
      made.draw();
    };
    const caption = element("figcaption", name);
    caption.append(element("span", "measured, last hour", "means"));
    made.root.append(caption, made.picture, made.slider, made.said);
    figures.set(name, made);
    return made;
  };

  let curvesOf = -Infinity;
  const curves = async (status) => {
    if (status.time_ms - curvesOf < EVERY_MS && status.time_ms >= curvesOf) return;
    curvesOf = status.time_ms;
    const all = await fetch("/curves").then((answer) => answer.json()).catch(() => null);
    if (all === null) return;
    const there = new Set(status.targets.map((target) => target.name));
    for (const [name, { root }] of figures) {
      if (!there.has(name)) {
        root.remove();
        figures.delete(name);
      }
    }
    status.targets.forEach((target, index) => {
      const made = figures.get(target.name) ?? figure(target.name);
      const place = at("curves").children[index];
      if (place !== made.root) at("curves").insertBefore(made.root, place ?? null);
      Object.assign(made, {
        levels: all[target.name] ?? [],
        limit: target.limit,
        now: sum(target, (one) => one.resident),
      });
      made.draw();
    });
    at("uncurved").hidden = [...figures.values()].some((made) => made.levels.length > 0);
  };

  // The map of one target, from when it was chosen on. It is asked for while the page is looked at.
  const COLUMNS = 120;
  const HEAT_MS = 5000;
  const LONGEST_NAME = 60;
  const map = { columns: [], before: new Map(), sizes: new Map(), said: "" };

  // A row by its group, process and address; rows of smaller parts are laid together.
  const place = (group, process, address) => `${group}\n${process}\n${address}`;
  const order = (key) => {
    const [group, process, address] = key.split("\n");
    return [group, Number(process), Number(address)];
  };
  const compare = (a, b) => {
    const [left, right] = [order(a), order(b)];
    const at = left.findIndex((part, index) => part !== right[index]);
    return at < 0 ? 0 : left[at] < right[at] ? -1 : 1;
  };
  const rebinned = (rows) => {
    const made = new Map();
    for (const [key, row] of rows) {
      const [group, process, address] = order(key);
      const size = map.sizes.get(group);
      const whole = place(group, process, Math.floor(address / size) * size);
      const sum = made.get(whole) ?? { touched: 0, away: 0 };
      made.set(whole, { touched: sum.touched + row.touched, away: sum.away + row.away });
    }
    return made;
  };

  const addColumn = (heat) => {
    const rows = new Map();
    for (const group of heat.groups) {
      const name = group.group.replaceAll("\n", " ");
      map.sizes.set(name, Math.max(group.row_bytes, map.sizes.get(name) ?? 0));
      for (const row of group.rows) rows.set(place(name, row.process, row.address), row);
    }
    const now = rebinned(rows);
    const before = rebinned(map.before);
    // What was touched before the map began is not known.
    const isFirst = map.before.size === 0;
    const cells = new Map();
    for (const [key, row] of now) {
      const known = isFirst ? row.touched : before.get(key)?.touched ?? 0;
      cells.set(key, { touched: Math.max(0, row.touched - known), away: row.away });
    }
    // A group that is busy is not told of: it goes on from what was known.
    map.before = heat.busy > 0 ? new Map([...before, ...now]) : now;
    map.columns.push({ time: Date.now(), cells });
    if (map.columns.length > COLUMNS) map.columns.shift();
    map.columns.forEach((column) => { column.cells = rebinned(column.cells); });
    const left = heat.groups.reduce((all, group) => all + group.left_out, 0);
    const said = [];
    if (heat.busy > 0) said.push(`${heat.busy} of its groups could not be asked just now: a step moves their memory, or they have no process`);
    if (left > 0) said.push(`${left} rows are left out: it has too many processes`);
    map.said = said.length > 0 ? `${said.join("; ")}.` : "";
  };

  const drawHeat = () => {
    const keys = [...new Set(map.columns.flatMap((column) => [...column.cells.keys()]))].sort(compare);
    const canvas = at("heat-map");
    const [width, height] = [canvas.clientWidth || 600, 260];
    Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const [hot, cold] = ["--bad", "--good"].map((name) => style.getPropertyValue(name));
    const most = Math.max(1, ...map.columns.flatMap((column) => [...column.cells.values()].map((cell) => cell.touched)));
    const tall = height / Math.max(1, keys.length);
    const wide = width / COLUMNS;
    let [touched, hottest] = [0, [0, ""]];
    map.columns.forEach((column, index) => {
      keys.forEach((key, row) => {
        const cell = column.cells.get(key);
        if (!cell) return;
        touched += cell.touched;
        if (cell.touched > hottest[0]) hottest = [cell.touched, key];
        const [group] = order(key);
        context.fillStyle = cell.touched > 0 ? hot : cold;
        context.globalAlpha = cell.touched > 0 ? 0.25 + 0.75 * Math.sqrt(cell.touched / most) : 0.6 * Math.min(1, cell.away / map.sizes.get(group));
        context.fillRect((COLUMNS - map.columns.length + index) * wide, height - (row + 1) * tall, Math.ceil(wide), Math.ceil(tall));
      });
    });
    const away = [...(map.columns.at(-1)?.cells.values() ?? [])].reduce((all, cell) => all + cell.away, 0);
    const hex = (address) => `0x${address.toString(16)}`;
    const where = hottest[0] > 0 ? `; most at ${hex(order(hottest[1])[2])} of process ${order(hottest[1])[1]}` : "";
    const looks = map.columns.length === 1 ? "1 look" : `${map.columns.length} looks`;
    const text = `${looks}, ${keys.length} rows: ${touched} pages were touched${where}. ${bytes(away)} are away. ${map.said}`;
    at("heat-said").textContent = text;
    canvas.setAttribute("aria-label", `Memory of ${at("heat-of").value} by address, over time. ${text}`);
    at("heat-begin").textContent = map.columns.length > 0 ? `${duration((COLUMNS * HEAT_MS) / 1000)} ago` : "";
    at("heat-end").textContent = map.columns.length > 0 ? "now" : "";
  };

  const askHeat = async () => {
    const name = at("heat-of").value;
    if (name === "" || document.hidden) return;
    const answer = await fetch(`/heat/${encodeURIComponent(name)}`).catch(() => null);
    if (at("heat-of").value !== name) return;
    if (answer?.ok) {
      addColumn(await answer.json());
      drawHeat();
    } else {
      at("heat-said").textContent = answer ? await answer.text() : "terraced-web does not answer";
    }
  };
  at("heat-of").onchange = () => {
    Object.assign(map, { columns: [], before: new Map(), sizes: new Map(), said: "" });
    at("heat").hidden = at("heat-of").value === "";
    drawHeat();
    askHeat();
  };
  setInterval(askHeat, HEAT_MS);

  // The targets that can be chosen. One that is gone stays while it is chosen.
  const choices = (targets) => {
    const select = at("heat-of");
    const names = targets.map((target) => target.name);
    if (select.value !== "" && !names.includes(select.value)) names.push(select.value);
    const there = [...select.options].slice(1).map((option) => option.value);
    if (JSON.stringify(names) === JSON.stringify(there)) return;
    const chosen = select.value;
    const made = names.map((name) => {
      const option = element("option", name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name);
      option.value = name;
      return option;
    });
    select.replaceChildren(select.options[0], ...made);
    select.value = chosen;
  };

  const note = (target, time) => {
    const points = history.get(target.name) ?? [];
    if (points.length > 0 && time - points.at(-1).time_ms < EVERY_MS) return;
    points.push({ time_ms: time, resident: sum(target, (one) => one.resident), swapped: sum(target, (one) => one.swapped) });
    if (points.length > POINTS) points.shift();
    history.set(target.name, points);
  };

  const row = (target) => {
    const made = element("tr");
    const name = element("td", target.name);
    name.title = target.means;
    name.append(element("span", target.means, "means"));
    const [dram, tier] = [sum(target, (one) => one.resident), sum(target, (one) => one.swapped)];
    const stalled = Math.max(0, ...target.instances.map((one) => one.stalled));
    const tooMuch = target.limit !== null && stalled > target.limit;
    const away = dram + tier === 0 ? "" : percent(tier / (dram + tier));
    const running = target.state === "running";
    made.append(name, element("td", target.goal));
    for (const text of running ? [bytes(dram), bytes(tier), away] : ["", "", ""]) made.append(element("td", text));
    made.append(element("td", running ? percent(stalled) : "", tooMuch ? "bad" : ""));
    made.append(element("td", bytes(target.counts.written)), element("td", String(target.counts.major_faults)));
    const kills = target.counts.oom_kills;
    made.append(element("td", String(kills), kills > 0 ? "bad" : ""));
    const picture = element("td");
    picture.append(line(target));
    const doing = target.trouble ?? (running ? target.instances.map((one) => one.doing).join("; ") : "waits for it");
    made.append(picture, element("td", doing, target.trouble ? "bad" : ""));
    // On a narrow screen a row is a list, and each cell says what it is.
    [...made.children].forEach((cell, index) => { cell.dataset.label = titles[index]; });
    return made;
  };

  const pair = (name, text) => {
    const made = element("div");
    made.append(element("dt", name), element("dd", text));
    return made;
  };

  const tier = ({ tier: it, daemon, oom_kills }) => {
    const pairs = [
      pair("tier", it.memory || "the machine's swap areas"),
      pair("in use", `${bytes(it.used)} of ${bytes(it.size)}`),
    ];
    if (it.budget) {
      pairs.push(pair("may be written a day", bytes(it.budget.a_day)));
      const days = it.budget.life_days;
      pairs.push(pair("life at this rate", days === null ? "nothing was written" : `${Number((days / 365.25).toPrecision(3))} years`));
    }
    pairs.push(pair("killed for want of memory", `${oom_kills} on this machine`));
    pairs.push(pair("terraced", daemon));
    at("tier").replaceChildren(...pairs);
  };

  const event = (one) => {
    const made = element("li");
    const time = element("time", new Date(one.time_ms).toLocaleTimeString());
    time.dateTime = new Date(one.time_ms).toISOString();
    made.append(time, `${one.target === null ? "" : `${one.target}: `}${one.text}`);
    return made;
  };

  // What the log leaves out.
  const missing = ({ older, lost }) => {
    const count = (number, what, one) => (number === 1 ? `1 ${one}` : `${number} ${what}`);
    const said = [];
    if (older > 0) said.push(`${count(older, "older events are", "older event is")} not shown`);
    if (lost > 0) said.push(`${count(lost, "events were", "event was")} lost before terraced-web read them`);
    at("missing").hidden = said.length === 0;
    at("missing").textContent = said.length === 0 ? "" : `${said.join("; ")}.`;
  };

  let lastEvent = "";
  const show = (known) => {
    at("trouble").hidden = known.trouble === null;
    at("trouble").textContent = known.trouble ?? "";
    const status = known.status;
    if (status) {
      status.targets.forEach((target) => note(target, status.time_ms));
      tier(status);
      at("targets").replaceChildren(...status.targets.map(row));
      at("nothing").hidden = status.targets.length > 0;
      curves(status);
      choices(status.targets);
    }
    const newest = JSON.stringify(known.events.at(-1) ?? null);
    if (newest !== lastEvent) {
      lastEvent = newest;
      at("log").replaceChildren(...known.events.toReversed().map(event));
    }
    missing(known);
    document.documentElement.dataset.drawn = String(status?.targets.length ?? 0);
  };

  const begin = async () => {
    const earlier = await fetch("/history").then((answer) => answer.json()).catch(() => ({}));
    for (const [name, points] of Object.entries(earlier)) history.set(name, points);
    const changes = new EventSource("/changes");
    changes.onmessage = (message) => show(JSON.parse(message.data));
    changes.onerror = () => {
      at("trouble").hidden = false;
      at("trouble").textContent = "terraced-web does not answer; the figures are the last that it told";
    };
  };
  begin();
})();
