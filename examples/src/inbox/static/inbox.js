// What the page does beside htmx: counts down, stays live, marks what was changed. It works without.
"use strict";

const MINUTE = 60, HOUR = 3600, DAY = 86400;
const SILENCE_MS = 10_000, RETRY_MS = 2_000;

// The server's clock, so that a browser whose clock is wrong counts down right.
const ahead = Number(document.documentElement.dataset.now) * 1000 - Date.now();
const now = () => (Date.now() + ahead) / 1000;
const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => root.querySelectorAll(selector);

function tell(text) {
  one("#told").textContent = text;
}

// Deadlines and times

function left(seconds) {
  const whole = Math.floor(seconds);
  if (whole < MINUTE) return `${Math.max(whole, 0)} s`;
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min`;
  if (whole < DAY) return `${Math.floor(whole / HOUR)} h ${Math.floor(whole / MINUTE) % 60} min`;
  return `${Math.floor(whole / DAY)} d ${Math.floor(whole / HOUR) % 24} h`;
}

function countDown() {
  for (const each of all("[data-left]")) {
    const seconds = Date.parse(each.dateTime) / 1000 - now();
    const text = seconds > 0 ? `${left(seconds)} left` : "Deadline passed";
    if (each.textContent !== text) each.textContent = text;
    each.dataset.urgency = seconds <= 0 ? "over" : seconds < HOUR ? "now" : seconds < DAY ? "soon" : "later";
  }
}

function localTimes() {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const each of all("[data-moment]")) {
    const at = Date.parse(each.dateTime);
    if (Number.isNaN(at)) continue;
    each.title = each.dateTime;
    each.textContent = format.format(at);
  }
}

// The live connection: the server says which version is the present one; another one is fetched.

let source = null, heard = 0, listeningTo = "";

function show(state) {
  const badge = one("#live");
  if (!badge || badge.dataset.state === state) return;
  badge.dataset.state = state;
  badge.textContent = { live: "Live", lost: "Connection lost; trying again" }[state] ?? "";
}

function listen() {
  const shown = one("[data-events]");
  source?.close();
  listeningTo = shown?.dataset.events ?? "";
  if (!shown) return;
  heard = Date.now();
  source = new EventSource(listeningTo);
  source.onmessage = ({ data }) => {
    heard = Date.now();
    show("live");
    const shown = one("[data-events]");
    if (shown.dataset.version !== data) htmx.trigger(shown, "refresh");
  };
  source.onerror = () => show("lost");
}

function watch() {
  if (!listeningTo) return;
  const silent = Date.now() - heard > SILENCE_MS;
  if (silent) show("lost");
  if (silent || source.readyState === EventSource.CLOSED) listen();
}

function refreshed() {
  dress();
  const shown = one("[data-events]");
  if (shown && shown.dataset.events !== listeningTo) listen();
  if (shown?.dataset.count !== undefined) {
    const { count, tab } = shown.dataset;
    document.title = tab === "open" && count !== "0" ? `(${count}) Approvals` : "Approvals";
    tell(`${count} shown`);
  } else if (shown?.dataset.state !== "open") {
    tell("This question has been answered or closed.");
  }
}

// The form: what is changed is marked, can be undone, and is counted on the button.

const control = (field) => one("input:not([type=checkbox]), select, textarea", field);
const notSet = (field) => one("[data-null]", field);
const shownNotSet = (field) => "notSet" in field.dataset;
const isChanged = (field) =>
  "hasValue" in field.dataset &&
  (control(field).value !== field.dataset.shown || (notSet(field)?.checked ?? false) !== shownNotSet(field));

function mark() {
  for (const field of all("[data-field]")) {
    const changed = isChanged(field);
    field.classList.toggle("is-changed", changed);
    one(".changed", field).hidden = !changed;
  }
  for (const button of all("[data-action]")) {
    const edits = [...all("[data-edits]")].filter((each) => each.dataset.edits.split(" ").includes(button.dataset.action));
    const count = edits.reduce((sum, each) => sum + all(".is-changed", each).length, 0);
    button.textContent = button.dataset.label + (count ? ` with ${count} change${count > 1 ? "s" : ""}` : "");
  }
}

document.addEventListener("input", ({ target }) => {
  const field = target.closest("[data-field]");
  if (!field) return;
  const unset = notSet(field);
  if (unset && target !== unset && target.value) unset.checked = false;
  if (unset && target === unset && unset.checked) control(field).value = "";
  mark();
});

document.addEventListener("click", ({ target }) => {
  if (!target.matches("[data-undo]")) return;
  const field = target.closest("[data-field]");
  control(field).value = field.dataset.shown;
  if (notSet(field)) notSet(field).checked = shownNotSet(field);
  mark();
  control(field).focus();
});

// One click, one answer. The button's value has to be in the form before it is disabled.
document.addEventListener("submit", ({ target, submitter }) => {
  if (!target.matches("[data-answer]")) return;
  setTimeout(() => {
    for (const button of all(".action", target)) button.disabled = true;
    if (submitter) submitter.textContent = "Sending…";
  });
});

// A refresh that brings no page leaves the present one in place, and a sign-in that has ended is shown.
document.addEventListener("htmx:before:response", (event) => {
  const { status } = event.detail.ctx.response;
  if (status < 400) return;
  event.preventDefault();
  if (status === 401) location.reload();
});
document.addEventListener("htmx:after:swap", refreshed);

function dress() {
  countDown();
  localTimes();
  mark();
}

dress();
listen();
setInterval(countDown, 1000);
setInterval(watch, RETRY_MS);
one("#wrong")?.focus();
