/** What all pages have: tooltips of times, addresses that are copied by a click, a search. */

/** Adds tooltips with times of the browser's time zone, and its name. The text stays in UTC. */
function addLocalTimes(): void {
  const local = new Intl.DateTimeFormat("sv-SE", {
    ...{ dateStyle: "short", timeStyle: "long" },
  });
  for (const time of document.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    const utc = `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
    time.title = `${utc}, ${local.format(at)}`;
  }
}

/** Shows what needs this script, also in parts of the page that were replaced. */
function prepare(): void {
  for (const button of document.querySelectorAll<HTMLElement>(".copy")) button.hidden = false;
  addLocalTimes();
}

/** Copies the address that was clicked, or whose button was. */
async function copy({ target }: MouseEvent): Promise<void> {
  const address = target instanceof Element ? target.closest(".address") : null;
  const button = address?.querySelector<HTMLElement>(".copy");
  if (!button) return;
  const text = button.dataset.copy ?? "";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text); // without HTTPS only loopback has a clipboard
  }
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1500);
}

/** Copies as a user would: selects the text in a field, and copies the selection. */
function copyBySelection(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

/** Focuses the search with the key `/`, unless something is being written. */
function focusSearch(event: KeyboardEvent): void {
  const isWriting = event.target instanceof Element &&
    event.target.closest("input, select, textarea") !== null;
  const field = document.querySelector<HTMLInputElement>(".find input");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isWriting) return;
  if (field === null) return;
  event.preventDefault();
  field.focus();
  field.select();
}

prepare();
document.addEventListener("keydown", focusSearch);
document.addEventListener("fragments", prepare);
document.addEventListener("click", (event) => void copy(event));
