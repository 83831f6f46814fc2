// The two rows of pictures to choose from, files, and batches of data sets.

import { ask, byId, complain, make } from "./ask.js";

const SIDES = ["first", "second"];
const pool = []; // what can be chosen on either side, the newest first
let changed, mostBytes;

export function buildPictures(start, onChange) {
  changed = onChange;
  mostBytes = start.most_bytes;
  byId("data-sets").append(...start.data_sets.map((name) => make("option", { value: name })));
  add(start.gallery);
  choose("first", start.gallery[0].key);
  choose("second", start.gallery[1].key);
  document.querySelectorAll(".side").forEach(watchSide);
  byId("swap").addEventListener("click", swap);
  byId("batch").addEventListener("submit", fetchBatch);
}

export const chosen = (side) => byId(`strip-${side}`).querySelector(":checked").value;

function add(pictures) {
  pool.unshift(...pictures);
  for (const side of SIDES) {
    const before = byId(`strip-${side}`).querySelector(":checked")?.value;
    byId(`strip-${side}`).replaceChildren(...pool.map((picture, place) => thumbnail(side, picture, place)));
    if (before) choose(side, before);
  }
}

function thumbnail(side, { key, name }, place) {
  const input = make("input", { type: "radio", name: `picture-${side}`, value: key, "aria-label": `${name}, ${place + 1} of ${pool.length}`, onchange: changed });
  return make("label", { title: name }, input, make("img", { src: `/picture/${encodeURIComponent(key)}`, alt: "", width: 58, height: 58 }));
}

function choose(side, key) {
  const input = [...byId(`strip-${side}`).querySelectorAll("input")].find((one) => one.value === key);
  input.checked = true;
  const strip = byId(`strip-${side}`);
  strip.scrollLeft = input.parentElement.offsetLeft - strip.offsetLeft - strip.clientWidth / 2;
}

function swap() {
  const [first, second] = SIDES.map(chosen);
  choose("first", second);
  choose("second", first);
  changed();
}

function watchSide(place) {
  const side = place.dataset.side;
  place.querySelector("[type=file]").addEventListener("change", async ({ target }) => {
    await upload(side, [...target.files]);
    target.value = "";
  });
  place.addEventListener("dragover", (event) => { event.preventDefault(); place.classList.add("dropping"); });
  place.addEventListener("dragleave", () => place.classList.remove("dropping"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("dropping");
    upload(side, [...event.dataTransfer.files]);
  });
}

// The first file goes where it was dropped, another one to the other side.
async function upload(side, files) {
  const other = SIDES.find((one) => one !== side);
  complain("pictures-alert");
  try {
    for (const [place, file] of files.slice(0, 2).entries()) {
      if (file.size > mostBytes) throw new Error(`${file.name} is larger than ${Math.round(mostBytes / 2 ** 20)} MiB: pass a smaller file`);
      const picture = await ask(`/upload?name=${encodeURIComponent(file.name)}`, {}, file);
      add([picture]);
      choose(place ? other : side, picture.key);
      changed();
    }
  } catch (error) {
    complain("pictures-alert", error.message);
  }
}

let batch = -1, batchName = "";

async function fetchBatch(event) {
  event.preventDefault();
  const name = byId("batch-name").value, button = event.submitter ?? byId("batch").querySelector("button");
  batch = name === batchName ? batch + 1 : 0;
  batchName = name;
  complain("pictures-alert");
  byId("batch-words").textContent = "fetching …";
  button.disabled = true;
  try {
    const { pictures } = await ask("/batch", { name, batch, download: byId("batch-download").checked });
    add(pictures);
    choose("first", pictures[0].key);
    choose("second", pictures[Math.min(1, pictures.length - 1)].key);
    byId("batch-words").textContent = `${pictures.length} pictures are there to choose from`;
    button.textContent = "Fetch another batch";
    changed();
  } catch (error) {
    byId("batch-words").textContent = "";
    complain("pictures-alert", error.message);
  } finally {
    button.disabled = false;
  }
}
