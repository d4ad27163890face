/** What all pages have: times of the browser's time zone, addresses that are copied by a click, a search. */

/** A time of the browser's time zone to the second: `2026-01-31 23:59:59`. */
function localText(at: Date): string {
  return at.toLocaleString("sv-SE");
}

/** Shows times in the browser's time zone, with UTC as a tooltip. Ages stay, with both as a tooltip. */
function showLocalTimes(): void {
  for (const time of document.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    const [local, utc] = [localText(at), `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`];
    const isAge = "age" in time.dataset;
    time.title = isAge ? `${local} (${utc})` : utc;
    if (!isAge) time.textContent = local;
  }
}

/** Lets the fields of times, which are sent in UTC, show the browser's time zone. */
function useLocalFields(): void {
  for (const field of document.querySelectorAll<HTMLInputElement>("input[type=datetime-local]")) {
    const at = new Date(`${field.value}Z`);
    if (field.value !== "") field.value = localText(at).slice(0, 16).replace(" ", "T");
    const zone = field.parentElement?.querySelector("small");
    if (zone) zone.textContent = "";
    field.form?.addEventListener("formdata", ({ formData }) => {
      if (field.value === "") return;
      formData.set(field.name, new Date(field.value).toISOString().slice(0, 16));
    });
  }
}

/** Shows what needs this script, also in parts of the page that were replaced. */
function prepare(): void {
  for (const button of document.querySelectorAll<HTMLElement>(".copy")) button.hidden = false;
  showLocalTimes();
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
useLocalFields();
document.addEventListener("keydown", focusSearch);
document.addEventListener("fragments", prepare);
document.addEventListener("click", (event) => void copy(event));
