/** Keeps the parts of a page that follow running scans up to date by server-sent events. */
import { replaceFragments } from "./fresh_fragments.ts";

/** Least time between two updates of the page, milliseconds. */
const MIN_MS = 5000;

let stream: EventSource | undefined;
let updatedAt = 0;
let isPlanned = false;
/** Whether the next state is the first one, which the page has. */
let isFirst = true;

/** Updates the page now, or when the last update is old enough. */
function update(): void {
  if (isFirst || isPlanned) {
    isFirst = false;
    return;
  }
  isPlanned = true;
  setTimeout(() => {
    isPlanned = false;
    updatedAt = performance.now();
    replaceFragments("[data-follow]");
  }, Math.max(0, updatedAt + MIN_MS - performance.now()));
}

/** Opens the stream in a visible tab, and closes it in a hidden one: browsers have few connections. */
function follow(): void {
  if (document.hidden) {
    stream?.close();
    stream = undefined;
  } else if (stream === undefined) {
    stream = new EventSource("/api/live");
    stream.addEventListener("state", update);
  }
}

document.addEventListener("visibilitychange", follow);
follow();
