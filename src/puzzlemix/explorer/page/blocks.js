// Pointing at a block, or leading through the mask with the arrow keys: where it came from, shown in all panels.

import { byId, make, percent } from "./ask.js";

let answer, place = null;

export function buildBlocks() {
  for (const holder of document.querySelectorAll(".cells")) {
    holder.addEventListener("pointermove", (event) => point(holder, event));
    holder.addEventListener("pointerleave", () => lead(null));
  }
  byId("mask").addEventListener("keydown", follow);
  byId("mask").addEventListener("blur", () => lead(null));
}

export function refreshBlocks(latest) {
  answer = latest;
  lead(place !== null && place < answer.cells.mask.length ? place : null);
}

function point(holder, event) {
  if (!answer) return;
  const box = holder.querySelector("img").getBoundingClientRect();
  const { rows, cols, down, across } = answer.cells;
  const row = Math.floor((event.clientY - box.top) / box.height / down), col = Math.floor((event.clientX - box.left) / box.width / across);
  if (row < 0 || col < 0 || row >= rows || col >= cols) return lead(null);
  const here = row * cols + col;
  const panel = holder.querySelector("img").dataset.panel;
  lead(panel.endsWith("_saliency") ? sideOf(panel).source.indexOf(here) : here);
}

function follow(event) {
  const { rows, cols } = answer.cells;
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const [down, right] = steps[event.key];
  const row = place === null ? 0 : Math.min(Math.max(Math.floor(place / cols) + down, 0), rows - 1);
  const col = place === null ? 0 : Math.min(Math.max((place % cols) + right, 0), cols - 1);
  lead(row * cols + col);
}

function lead(where) {
  place = where;
  for (const mark of document.querySelectorAll(".cell")) mark.remove();
  if (where === null) return;
  for (const holder of document.querySelectorAll(".cells")) {
    const panel = holder.querySelector("img").dataset.panel;
    const origin = sideOf(panel)?.source[where] ?? where;
    if (panel.endsWith("_saliency")) mark(holder, origin);
    else mark(holder, where);
    if (panel.endsWith("_moves") && origin !== where) mark(holder, origin, "origin");
  }
  byId("readout").textContent = tell(where);
}

// What became of the one picture that a panel shows; nothing for panels of both.
const sideOf = (panel) => ({ first: answer.cells.first, second: answer.cells.second })[panel.split("_")[0]];

function mark(holder, where, kind = "") {
  const { cols, down, across } = answer.cells;
  const box = make("span", { class: `cell ${kind}`, "aria-hidden": "true" });
  const top = Math.floor(where / cols) * down, left = (where % cols) * across, { offsetWidth: width, offsetHeight: height } = holder.querySelector("img");
  Object.assign(box.style, { top: `${top * height}px`, left: `${left * width}px`, width: `${Math.min(across, 1 - left) * width}px`, height: `${Math.min(down, 1 - top) * height}px` });
  holder.append(box);
}

function tell(where) {
  const { mask } = answer.cells;
  const parts = ["first", "second"].map((side, number) => {
    const weight = number ? 1 - mask[where] : mask[where], { source, share } = answer.cells[side], origin = source[where];
    if (!weight) return null;
    const from = origin === where ? "in its place" : `from ${position(origin)}`;
    return `${percent(weight)} ${answer.names[number]}, ${from}, with ${(100 * share[origin]).toFixed(2)} % of its saliency`;
  });
  return `${position(where).replace("row", "Row")}: ${parts.filter(Boolean).join("; ")}.`;
}

const position = (where) => `row ${Math.floor(where / answer.cells.cols) + 1}, column ${(where % answer.cells.cols) + 1}`;
