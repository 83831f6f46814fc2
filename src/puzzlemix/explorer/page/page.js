// Puts the parts together: whatever changes, the mix is asked for anew, the latest wish first.

import { ask, byId, complain, make, save } from "./ask.js";
import { buildBlocks, refreshBlocks } from "./blocks.js";
import { buildControls, readSettings, showSettings } from "./controls.js";
import { buildPictures, chosen } from "./pictures.js";
import { buildRows, markRows, showMix, showRow, summary } from "./show.js";

const ROWS_AFTER = 250, POLL_AFTER = 700; // milliseconds
let start, source = { kind: "classifier", name: "", download: false };
let shown = null; // the source of the mix that is shown: while another one is loaded, not yet the wanted one
let wanted = 0, answered = 0, running = false, rowsTimer, pollTimer, sayTimer;

begin();

async function begin() {
  if (location.search) history.replaceState(null, "", location.pathname); // the key need not stay in sight
  watchTheme();
  try {
    start = await ask("/start");
  } catch (error) {
    complain("stage-alert", error.message);
    return;
  }
  buildControls(refresh);
  showSettings(start.settings);
  buildRows(start.rows, (name, value) => showAndRefresh({ ...readSettings(), [name]: value }));
  buildPictures(start, refresh);
  buildBlocks();
  watchSource();
  watchButtons();
  watchPeek();
  refresh();
}

const request = (from) => ({ first: chosen("first"), second: chosen("second"), source: from, settings: readSettings() });

function showAndRefresh(settings) {
  showSettings(settings);
  refresh();
}

async function refresh() {
  wanted += 1;
  clearTimeout(rowsTimer);
  clearTimeout(pollTimer);
  markRows(readSettings());
  if (running) return;
  running = true;
  byId("stage").dataset.asking = "";
  const busy = setTimeout(() => byId("stage").classList.add("busy"), 1000);
  while (answered < wanted) {
    const turn = wanted;
    await mix();
    answered = turn;
  }
  clearTimeout(busy);
  byId("stage").classList.remove("busy");
  running = false;
  delete byId("stage").dataset.asking;
  if (shown) rowsTimer = setTimeout(refreshRows, ROWS_AFTER);
}

async function mix() {
  const begun = performance.now();
  try {
    const answer = await ask("/mix", request(source));
    shown = answer.source;
    showMix(answer);
    refreshBlocks(answer);
    showSource(answer);
    complain("stage-alert");
    byId("time").textContent = `answered in ${Math.round(performance.now() - begun)} ms`;
    byId("stage").dataset.answers = Number(byId("stage").dataset.answers ?? 0) + 1;
    clearTimeout(sayTimer);
    sayTimer = setTimeout(() => { byId("status").textContent = summary(answer); }, 700);
    if (answer.waiting) pollTimer = setTimeout(refresh, POLL_AFTER);
  } catch (error) {
    shown = null;
    complain(error.about === "source" ? "source-alert" : "stage-alert", error.message);
  }
}

async function refreshRows() {
  const turn = wanted;
  for (const name of Object.keys(start.rows)) {
    try {
      const { mixes } = await ask(`/row?name=${name}`, request(shown));
      if (turn !== wanted) return;
      showRow(name, mixes);
    } catch {
      return; // the mix itself says what is wrong
    }
  }
}

function showSource({ saliency, waiting }) {
  byId("source-words").textContent = waiting ? `${waiting.words} (${Math.round(waiting.seconds)} s). Meanwhile: ${saliency}` : `By ${saliency}`;
  complain("source-alert");
}

function watchSource() {
  byId("networks").append(...start.networks.map((value) => make("option", { value })));
  byId("source-kind").addEventListener("change", ({ target }) => {
    const named = target.value === "run" || target.value === "torchvision", torchvision = target.value === "torchvision";
    byId("source-form").hidden = !named;
    byId("source-download-line").hidden = !torchvision;
    byId("source-label").textContent = torchvision ? "Its name, such as resnet18" : "The run’s folder";
    byId("source-name").setAttribute("list", torchvision ? "networks" : "");
    complain("source-alert");
    if (named) byId("source-name").focus();
    else useSource({ kind: target.value, name: "", download: false });
  });
  byId("source-form").addEventListener("submit", (event) => {
    event.preventDefault();
    useSource({ kind: byId("source-kind").value, name: byId("source-name").value, download: byId("source-download").checked });
  });
}

function useSource(wish) {
  source = wish;
  refresh();
}

function watchButtons() {
  byId("reset").addEventListener("click", () => showAndRefresh(start.settings));
  byId("draw").addEventListener("click", async () => {
    byId("number-seed").value = (Number(byId("number-seed").value) + 1) % 100;
    try {
      showAndRefresh(await ask("/draw", readSettings()));
    } catch (error) {
      complain("stage-alert", error.message);
    }
  });
  download("figure", "/figure.png", "puzzlemix.png");
  download("rows-figure", "/rows.png", "puzzlemix-rows.png");
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button));
}

function download(id, path, name) {
  byId(id).addEventListener("click", async ({ currentTarget: button }) => {
    button.disabled = true;
    try {
      save(await ask(path, request(shown ?? source)), name);
    } catch (error) {
      complain("stage-alert", error.message);
    } finally {
      button.disabled = false;
    }
  });
}

async function copy(button) {
  const area = byId(button.dataset.copy), before = button.textContent;
  try {
    await navigator.clipboard.writeText(area.value);
  } catch { // not allowed, as on pages that come over plain HTTP from elsewhere
    area.select();
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  byId("status").textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}

function watchTheme() {
  const button = byId("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const name = () => { button.textContent = now() === "dark" ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`); };
  const kept = localStorage.getItem("theme");
  if (kept) document.documentElement.dataset.theme = kept;
  name();
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = now() === "dark" ? "light" : "dark";
    localStorage.setItem("theme", now());
    name();
  });
}

// On a phone the mix scrolls out of sight while one moves the settings: a small one stays.
function watchPeek() {
  new IntersectionObserver(([stage]) => { byId("peek").hidden = stage.isIntersecting; }).observe(document.querySelector(".result"));
}
