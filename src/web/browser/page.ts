/** What all pages have: buttons that copy an address. */

/** Shows the buttons, which need a script, and copies on click. */
function offerCopies(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => void copy(button));
  }
}

async function copy(button: HTMLButtonElement): Promise<void> {
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

offerCopies();
