// The server's answer on the page.

import { byId, figure, make, percent } from "./ask.js";

const TERMS = [
  ["saliency", "Saliency that is hidden"],
  ["label_smoothness", "Labels that differ, β"],
  ["data_smoothness", "Seams that show, βγ"],
  ["prior", "Distance from λ, η"],
];
const ROWS = { lam: ["λ", "share"], beta: ["β", "labels alike"], gamma: ["γ", "smooth seams"] };

export function showMix(answer) {
  const { panels, mixed, figures, names } = answer;
  for (const image of document.querySelectorAll("[data-panel]")) {
    image.src = image.dataset.panel === "mixed" ? mixed : panels[image.dataset.panel];
    image.alt = describe(image.dataset.panel, answer);
  }
  words("first", names[0]);
  words("second", names[1]);
  words("first_moves", movesWords(answer, 0));
  words("second_moves", movesWords(answer, 1));
  showMaskLegend(answer);
  byId("pooled-title").textContent = `In ${answer.cells.rows} × ${answer.cells.cols} blocks`;
  showRatio(figures.ratio, names);
  showBeside(answer);
  showEnergy(figures.energy);
  showMoves(answer);
  byId("python").value = answer.python;
  byId("config").value = answer.config;
  byId("peek-first").src = panels.first;
  byId("peek-second").src = panels.second;
  byId("peek-mixed").src = mixed;
  byId("peek-words").textContent = `${percent(figures.ratio)} ${names[0]}`;
}

export function summary({ figures, names }) {
  return `Mixed: ${percent(figures.ratio)} ${names[0]}, ${percent(1 - figures.ratio)} ${names[1]}; ${figures.moved[0]} and ${figures.moved[1]} blocks moved.`;
}

function describe(panel, { names, figures, saliency }) {
  const [first, second] = names;
  return {
    first: `${first}, the first picture, with its saliency by ${saliency}`,
    second: `${second}, the second picture, with its saliency by ${saliency}`,
    first_saliency: `The saliency of ${first} in blocks`,
    second_saliency: `The saliency of ${second} in blocks`,
    mask: `The mask: blue blocks show ${first}, orange ones ${second}, pale ones both`,
    first_moves: `What is shown of ${first}: ${figures.moved[0]} of ${figures.seen[0]} blocks moved, arrows lead from where they were`,
    second_moves: `What is shown of ${second}: ${figures.moved[1]} of ${figures.seen[1]} blocks moved, arrows lead from where they were`,
    mixed: `The mix, ${percent(figures.ratio)} ${first} and ${percent(1 - figures.ratio)} ${second}`,
  }[panel];
}

function words(panel, text) {
  document.querySelector(`[data-words="${panel}"]`).textContent = text;
}

function movesWords({ figures }, side) {
  return figures.plan_cost !== null ? `${figures.moved[side]} of ${figures.seen[side]} moved` : "nothing moves";
}

function showMaskLegend({ cells, names }) {
  const kinds = [
    ["var(--first-fill)", names[0], (weight) => weight > 0.5],
    ["#efeae2", "both", (weight) => weight > 0 && weight < 1],
    ["var(--second-fill)", names[1], (weight) => weight < 0.5],
  ];
  const parts = kinds.filter(([, , holds]) => cells.mask.some(holds)).flatMap(([colour, name]) => {
    const swatch = make("span", { class: "swatch" });
    swatch.style.background = colour;
    return [swatch, name];
  });
  document.querySelector('[data-words="mask"]').replaceChildren(...parts);
}

function showRatio(ratio, names) {
  const [first, second] = byId("ratio").children;
  first.style.width = `${100 * ratio}%`;
  second.style.width = `${100 * (1 - ratio)}%`;
  byId("ratio-first").textContent = `${percent(ratio)} ${names[0]}`;
  byId("ratio-second").textContent = `${percent(1 - ratio)} ${names[1]}`;
}

function showBeside({ mixed, figures, beside, names }) {
  const methods = [
    ["Puzzle Mix", { image: mixed, ratio: figures.ratio, kept: figures.kept }],
    ["Input mixup", beside.mixup],
    ["CutMix", beside.cutmix],
  ];
  byId("beside").replaceChildren(...methods.map(([title, { image, ratio, kept }]) => make(
    "article", {},
    make("h3", {}, title),
    make("img", { src: image, alt: `${title}: ${percent(ratio)} ${names[0]}, ${percent(1 - ratio)} ${names[1]}` }),
    make("p", { class: "hint" }, `${percent(ratio)} of the picture first, ${percent(1 - ratio)} second. Saliency kept:`),
    make("dl", {}, meter("first", names[0], kept.first), meter("second", names[1], kept.second)),
  )));
}

function meter(side, words, share) {
  return make("div", { class: `meter ${side}` }, make("dt", {}, words), make("dd", {}, percent(share)), bar(share));
}

function bar(share) {
  const fill = make("span");
  fill.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
  return make("div", { class: "bar", "aria-hidden": "true" }, fill);
}

function showEnergy(energy) {
  const most = Math.max(...TERMS.map(([name]) => Math.abs(energy[name])), 1e-9);
  const lines = TERMS.map(([name, words]) => make("tr", {}, make("th", { scope: "row" }, words), make("td", {}, bar(Math.abs(energy[name]) / most)), make("td", {}, figure(energy[name]))));
  const total = make("tr", { class: "total" }, make("th", { scope: "row" }, "Total"), make("td"), make("td", {}, figure(energy.total)));
  byId("energy").tBodies[0].replaceChildren(...lines, total);
}

function showMoves({ figures, names }) {
  const { moved, seen, kept, kept_still: still, plan_cost: cost } = figures;
  const lines = [
    ["first", `${names[0]}: blocks moved`, `${moved[0]} of ${seen[0]}`],
    ["second", `${names[1]}: blocks moved`, `${moved[1]} of ${seen[1]}`],
    ["", "Saliency kept of both", `${percent((kept.first + kept.second) / 2)} (${percent((still.first + still.second) / 2)} had nothing moved)`],
    ["", "Cost of the plans", cost === null ? "no transport" : figure(cost)],
  ];
  byId("moves").replaceChildren(...lines.map(([side, term, value]) => make("div", { class: side }, make("dt", {}, term), make("dd", {}, value))));
}

export function buildRows(rows, pick) {
  byId("rows").replaceChildren(...Object.entries(rows).map(([name, values]) => {
    const [sign, words] = ROWS[name];
    const buttons = values.map((value) => make("button", { type: "button", "data-value": `${value}`, "aria-label": `${sign} = ${value}`, onclick: () => pick(name, value) }, make("img", { alt: "" }), `${value}`));
    return make("div", { class: "row" }, make("h3", {}, make("b", {}, sign), ` ${words}`), make("div", { class: "mixes", id: `row-${name}` }, ...buttons));
  }));
}

export function showRow(name, mixes) {
  for (const [place, button] of [...byId(`row-${name}`).children].entries()) button.firstElementChild.src = mixes[place].image;
}

export function markRows(settings) {
  for (const name of Object.keys(ROWS)) {
    for (const button of byId(`row-${name}`).children) button.setAttribute("aria-pressed", `${Math.abs(Number(button.dataset.value) - settings[name]) < 1e-9}`);
  }
}
