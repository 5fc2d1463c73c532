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
