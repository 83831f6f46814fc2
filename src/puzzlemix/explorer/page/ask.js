// Questions to the server, and small helpers to build the page.

export async function ask(path, values = {}, body = JSON.stringify(values)) {
  let reply;
  try {
    reply = await fetch(path, { method: "POST", body, headers: { "Content-Type": "application/octet-stream" } });
  } catch {
    throw new Error("The server does not answer: is puzzlemix explore still running?");
  }
  if (reply.headers.get("Content-Type") === "image/png" && reply.ok) return reply.blob();
  const answer = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(answer.error), { about: answer.about });
  return answer;
}

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function complain(id, words) {
  const place = byId(id);
  place.textContent = words ?? "";
  place.hidden = !words;
}

export const percent = (share) => {
  const whole = Math.round(100 * share);
  return `${share > 0 && share < 1 ? Math.min(Math.max(whole, 1), 99) : whole} %`;
};

export const figure = (value) => (Math.abs(value) < 0.00005 ? "0" : value.toFixed(4).replace("-", "−"));

export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
