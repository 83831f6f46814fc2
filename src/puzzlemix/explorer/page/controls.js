// The sliders, the transport, and what they say.

import { byId, make } from "./ask.js";

const SLIDERS = [
  { name: "lam", sign: "λ", words: "share of the first", most: 1, step: 0.01 },
  { name: "beta", sign: "β", words: "labels alike", most: 10, step: 0.1 },
  { name: "gamma", sign: "γ", words: "smooth seams", most: 1, step: 0.05 },
  { name: "eta", sign: "η", words: "keep to λ", most: 2, step: 0.05 },
  { name: "xi", sign: "ξ", words: "cost of moving", most: 2, step: 0.05, note: "The paper’s: β 1.2, γ 0.5, η 0.2, ξ 0.8" },
  { name: "grid", sign: "", words: "Grid, blocks per side", least: 2, most: 20, step: 1 },
  { name: "labels", sign: "", words: "Labels, steps of the mask", least: 2, most: 8, step: 1 },
];
const SEED = { name: "seed", sign: "", words: "Seed", most: 99, step: 1, note: "For CutMix’s rectangle and for drawing λ and grid: the mix itself has no chance in it." };

export function buildControls(changed) {
  byId("sliders").append(...SLIDERS.map((slider) => buildSlider(slider, changed)));
  byId("chance").append(buildSlider(SEED, changed));
  byId("transport").addEventListener("change", changed);
}

function buildSlider({ name, sign, words, least = 0, most, step, note }, changed) {
  const range = make("input", { type: "range", id: `range-${name}`, min: `${least}`, max: `${most}`, step: `${step}` });
  const number = make("input", { type: "number", id: `number-${name}`, min: `${least}`, max: `${most}`, step: "any", "aria-label": `${sign} ${words}, as a number`.trim() });
  range.addEventListener("input", () => { number.value = range.value; fill(range); changed(); });
  number.addEventListener("change", () => { if (number.value === "") number.value = range.value; range.value = number.value; fill(range); changed(); });
  const label = make("label", { for: range.id }, ...(sign ? [make("b", {}, sign), " "] : []), words);
  const hint = note ? [make("p", { class: "hint", id: `hint-${name}` }, note)] : [];
  if (note) range.setAttribute("aria-describedby", `hint-${name}`);
  return make("div", { class: "slider" }, label, number, range, ...hint);
}

function fill(range) {
  range.style.setProperty("--at", `${(100 * (range.value - range.min)) / (range.max - range.min)}%`);
}

export function showSettings(settings) {
  for (const { name } of [...SLIDERS, SEED]) {
    byId(`number-${name}`).value = settings[name];
    byId(`range-${name}`).value = settings[name];
    fill(byId(`range-${name}`));
  }
  document.querySelector(`#transport [value="${settings.transport}"]`).checked = true;
}

export function readSettings() {
  const values = [...SLIDERS, SEED].map(({ name }) => [name, Number(byId(`number-${name}`).value)]);
  return { ...Object.fromEntries(values), transport: document.querySelector("#transport :checked").value };
}
