"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  let charts = [];

  const round = (value, digits = 3) => String(Number(value.toPrecision(digits)));
  const scaled = (value, step, units) => {
    if (value === 0) return "0";
    let index = 0;
    let rest = Math.abs(value);
    while (rest >= step && index + 1 < units.length) {
      rest /= step;
      index += 1;
    }
    return (value < 0 ? "-" : "") + round(rest) + units[index];
  };
  const shown = {
    count: (value) => scaled(value, 1000, ["", " k", " M", " G", " T"]),
    bytes: (value) => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]),
    nanos: (value) => scaled(value, 1000, [" ns", " µs", " ms", " s"]),
    seconds: (value) => (value !== 0 && Math.abs(value) < 1 ? scaled(value * 1e9, 1000, [" ns", " µs", " ms"]) : round(value) + " s"),
    share: (value) => round(value * 100) + " %",
    times: (value) => round(value) + "x",
  };

  // Powers of two or ten where the scale is logarithmic, and round numbers of KiB, MiB and so on.
  const ticks = (axis) => {
    const base = axis.unit === "bytes" ? 2 : 10;
    return (scale) => {
      if (axis.names.length) return;
      if (!axis.log) {
        if (axis.unit !== "bytes" || scale.max <= 0) return;
        const unit = 1024 ** Math.floor(Math.log(scale.max) / Math.log(1024));
        const rough = scale.max / unit / 6;
        const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200].find((nice) => nice >= rough);
        scale.ticks = [];
        for (let at = 0; at <= scale.max / unit + 1e-9; at += step) scale.ticks.push({ value: at * unit });
        return;
      }
      const first = Math.ceil(Math.log(scale.min) / Math.log(base) - 1e-9);
      const last = Math.floor(Math.log(scale.max) / Math.log(base) + 1e-9);
      const step = Math.max(1, Math.ceil((last - first + 1) / 8));
      const values = [];
      for (let power = first; power <= last; power += step) values.push({ value: base ** power });
      if (values.length >= 2) scale.ticks = values;
    };
  };

  const scale = (axis, plot, colour) => {
    const common = {
      stacked: plot.kind === "stacked",
      title: { display: axis.title !== "", text: axis.title, color: colour("--text") },
      border: { color: colour("--line") },
      grid: { color: colour("--line"), drawOnChartArea: axis.names.length === 0 },
      ticks: { color: colour("--dim"), maxRotation: 60 },
    };
    if (axis.names.length && axis === plot.y) {
      return {
        ...common,
        type: "linear",
        min: -0.5,
        max: axis.names.length - 0.5,
        reverse: true,
        afterBuildTicks: (limits) => { limits.ticks = axis.names.map((_, value) => ({ value })); },
        ticks: { ...common.ticks, callback: (value) => axis.names[value] },
      };
    }
    if (axis.names.length) return { ...common, type: "category", labels: axis.names };
    if (axis.bands.length) {
      const middle = (band) => (band.from + band.to) / 2;
      return {
        ...common,
        type: "linear",
        min: 0,
        max: axis.bands.at(-1).to,
        grid: { display: false },
        afterBuildTicks: (limits) => { limits.ticks = axis.bands.map((band) => ({ value: middle(band) })); },
        ticks: { ...common.ticks, callback: (value) => axis.bands.find((band) => middle(band) === value)?.name },
      };
    }
    return {
      ...common,
      type: axis.log ? "logarithmic" : "linear",
      beginAtZero: !axis.log && axis === plot.y,
      ...(plot.heat && { min: 0, max: plot.heat.width * plot.heat.rows[0].values.length }),
      // The shortest bar of a logarithmic scale is to be seen as well.
      afterDataLimits: (limits) => {
        if (axis.log && axis === plot.y) limits.min /= 2;
      },
      afterBuildTicks: ticks(axis),
      ticks: { ...common.ticks, callback: (value) => shown[axis.unit](value) },
    };
  };

  // From the least to the most of what a bar or point is the middle of.
  const spread = (colour) => ({
    id: "spread",
    afterDatasetsDraw(chart) {
      const pen = chart.ctx;
      pen.save();
      pen.strokeStyle = colour("--text");
      pen.lineWidth = 1.5;
      chart.data.datasets.forEach((set, index) => {
        if (!chart.isDatasetVisible(index)) return;
        set.spread.forEach(([least, most], point) => {
          const x = chart.getDatasetMeta(index).data[point].x;
          const [low, high] = [least, most].map((value) => chart.scales.y.getPixelForValue(value));
          pen.beginPath();
          pen.moveTo(x, low);
          pen.lineTo(x, high);
          for (const y of [low, high]) {
            pen.moveTo(x - 5, y);
            pen.lineTo(x + 5, y);
          }
          pen.stroke();
        });
      });
      pen.restore();
    },
  });

  // The background of ranges of addresses, between which the axis leaves something out.
  const bands = (axis, colour) => ({
    id: "bands",
    beforeDatasetsDraw(chart) {
      const { left, width } = chart.chartArea;
      chart.ctx.fillStyle = colour("--soft");
      for (const { from, to } of axis.bands) {
        const [top, bottom] = [to, from].map((value) => chart.scales.y.getPixelForValue(value));
        chart.ctx.fillRect(left, top, width, bottom - top);
      }
    },
  });

  // How strong a cell of a heat map is: from nearly nothing to 1, by the logarithm of its value.
  const strength = (value, heat) => 0.12 + 0.88 * Math.max(0, 1 + Math.log10(value / heat.most) / heat.orders);

  // The cells of a heat map, on whole pixels so that no background shows between them.
  const cells = (heat, colour) => ({
    id: "cells",
    beforeDatasetsDraw(chart) {
      if (!heat) return;
      const { x, y } = chart.scales;
      const pen = chart.ctx;
      pen.save();
      pen.fillStyle = colour("--c1");
      for (const row of heat.rows) {
        const [top, bottom] = [row.to, row.from].map((value) => Math.round(y.getPixelForValue(value)));
        row.values.forEach((value, column) => {
          if (value === 0) return;
          const [left, right] = [column, column + 1].map((at) => Math.round(x.getPixelForValue(at * heat.width)));
          pen.globalAlpha = strength(value, heat);
          pen.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
        });
      }
      pen.restore();
    },
  });

  // Cells as points, which tell their value below the pointer.
  const centres = (heat) => ({
    label: "",
    spread: [],
    pointRadius: 0,
    pointHitRadius: 8,
    pointHoverRadius: 3,
    data: heat.rows.flatMap((row) => row.values.flatMap((value, column) => (
      value === 0 ? [] : [{ x: (column + 0.5) * heat.width, y: (row.from + row.to) / 2, value }]
    ))),
  });

  // The value of an axis as text: a name, or of a range of addresses its name and the address.
  const told = (axis, value) => {
    if (axis.names.length) return axis.names[value];
    const band = axis.bands.find(({ from, to }) => from <= value && value <= to);
    if (!band) return shown[axis.unit](value);
    const page = band.first + Math.floor(((value - band.from) / (band.to - band.from)) * band.pages);
    return `0x${(BigInt(page) * 4096n).toString(16)} in ${band.name}`;
  };

  const dataset = (series, index, plot, colour) => ({
    label: series.name,
    // Below names values go by their index: two machines may have one name.
    data: plot.x.names.length
      ? plot.x.names.map((_, name) => series.points.find(([x]) => x === name)?.[1] ?? null)
      : series.points.map(([x, y]) => ({ x, y })),
    spread: series.spread,
    borderColor: colour(`--c${index % 12}`),
    backgroundColor: colour(`--c${index % 12}`),
    borderWidth: plot.kind === "lines" ? 2 : 0,
    pointRadius: plot.kind === "points" ? 1.5 : series.points.length > 60 ? 0 : 3,
    pointStyle: ["circle", "triangle", "rect", "rectRot", "crossRot", "star"][Math.floor(index / 12) % 6],
    maxBarThickness: 60,
  });

  // Whether points lie anywhere, and not one above the other.
  const isFree = (plot) => plot.kind === "points" || plot.kind === "heat";

  const draw = () => {
    charts.forEach((chart) => chart.destroy());
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    charts = plots.map((plot, index) => new Chart(document.getElementById(`plot${index}`), {
      type: { lines: "line", points: "scatter", heat: "scatter", bars: "bar", stacked: "bar" }[plot.kind],
      data: { datasets: plot.heat ? [centres(plot.heat)] : plot.series.map((series, at) => dataset(series, at, plot, colour)) },
      plugins: [bands(plot.y, colour), cells(plot.heat, colour), spread(colour)],
      options: {
        animation: false,
        maintainAspectRatio: false,
        interaction: isFree(plot) ? { mode: "nearest", intersect: plot.heat !== null, axis: "xy" } : { mode: "index", intersect: false, axis: "x" },
        scales: { x: scale(plot.x, plot, colour), y: scale(plot.y, plot, colour) },
        plugins: {
          legend: { display: plot.series.length > 1, labels: { color: colour("--text"), boxWidth: 14 } },
          tooltip: {
            callbacks: {
              title: (items) => (items.length === 0 ? "" : plot.x.names.length ? items[0].label : shown[plot.x.unit](items[0].parsed.x)),
              label: (item) => (plot.heat
                ? `${told(plot.y, item.parsed.y)}: ${round(item.raw.value)} a page`
                : `${item.dataset.label}: ${told(plot.y, item.parsed.y)}`),
            },
          },
        },
      },
    }));
    document.documentElement.dataset.drawn = String(charts.length);
  };

  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", draw);
  }
  draw();
})();
