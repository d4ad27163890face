/** Shows the values of charts at the pointer. Without this script the browser's tooltips show them. */

/** Follows the pointer over a chart. */
function follow(chart: HTMLElement): void {
  const plot = chart.querySelector<SVGSVGElement>(".plot");
  if (plot === null) return;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  chart.append(tip);
  const texts = new Map<Element, string>();
  for (const slot of plot.querySelectorAll(".slot")) {
    const title = slot.querySelector("title");
    texts.set(slot, title?.textContent ?? "");
    title?.remove();
  }
  plot.addEventListener("pointermove", (event) => {
    const text = texts.get(event.target as Element);
    tip.hidden = text === undefined;
    if (text === undefined) return;
    tip.textContent = text;
    const box = chart.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const left = x + 14 + tip.offsetWidth > box.width ? x - 14 - tip.offsetWidth : x + 14;
    tip.style.transform = `translate(${Math.max(0, left)}px, ${y + 14}px)`;
  });
  plot.addEventListener("pointerleave", () => tip.hidden = true);
}

document.querySelectorAll<HTMLElement>("[data-chart]").forEach(follow);
