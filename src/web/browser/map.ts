/** The map: draws the cells of a square on a canvas, and zooms by pointer, wheel and keyboard. */
import { indexAt, type Point, pointAt } from "./hilbert.ts";
import { type ColorStep, mapSteps, stepOf } from "./map_scale.ts";

/** Cells of a side of a square, and of a side of a block that a click enlarges. */
const SQUARE = 256;
const BLOCK = 16;

/** The square whose cells the page has. */
interface Square {
  readonly address: number;
  /** 0, 8 or 16. */
  readonly prefix: number;
  /** The part of the square that the map shows: blocks, of which no side has fewer than one. */
  readonly shown: { readonly address: number; readonly prefix: number };
  readonly layer: string;
  /** The rest of the query of URLs: layer and filters. */
  readonly query: string;
}

/** An IPv4 address as text. */
function addressText(address: number): string {
  return [24, 16, 8, 0].map((shift) => address >>> shift & 255).join(".");
}

class AddressMap {
  readonly root: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly square: Square;
  readonly #values = new Map<number, number>();
  #steps: readonly ColorStep[] = [];
  #cell = 0;
  #lastWheel = 0;

  constructor(root: HTMLElement, canvas: HTMLCanvasElement, square: Square) {
    this.root = root;
    this.canvas = canvas;
    this.square = square;
    this.#listen();
  }

  /** Reads the cells, and draws them. */
  async load(): Promise<void> {
    const { address, prefix, query } = this.square;
    const url = `/api/map?prefix=${addressText(address)}/${prefix}&${query}`;
    const response = await fetch(url, { headers: { accept: "application/json" } });
    if (!response.ok) throw new Error(`The map cannot be read: HTTP status ${response.status}`);
    const { gaps, values } = await response.json();
    let cell = Math.floor(address / 2 ** (16 - prefix)) - this.#first - 1;
    gaps.forEach((gap: number, i: number) => this.#values.set(cell += gap, values[i]));
    const most = values.reduce((a: number, b: number) => Math.max(a, b), 0);
    this.#steps = mapSteps(this.square.layer, most);
    this.draw();
  }

  /** Cells of a side of the map. */
  get #side(): number {
    return SQUARE / 2 ** ((this.square.shown.prefix - this.square.prefix) / 2);
  }

  /** The order of the curve through all cells of the size of the map's cells. */
  get #order(): number {
    return (this.square.prefix + 16) / 2;
  }

  /** The number of the map's first cell among all cells of this size. */
  get #first(): number {
    return Math.floor(this.square.shown.address / 2 ** (16 - this.square.prefix));
  }

  /** The point of a cell on the map. */
  #pointOf(cell: number): Point {
    const { x, y } = pointAt(this.#first + cell, this.#order);
    return { x: x % this.#side, y: y % this.#side };
  }

  /** The cell at a point of the map. */
  #cellAt({ x, y }: Point): number {
    const corner = pointAt(this.#first, this.#order);
    const [left, top] = [corner.x - corner.x % this.#side, corner.y - corner.y % this.#side];
    return indexAt({ x: left + x, y: top + y }, this.#order) - this.#first;
  }

  /** The network of a cell, or of the block around it. */
  #networkOf(cell: number, isBlock = false): string {
    const { prefix } = this.square;
    const first = isBlock ? cell - cell % (BLOCK * BLOCK) : cell;
    const length = prefix + (isBlock ? 8 : 16);
    const address = addressText((this.#first + first) * 2 ** (16 - prefix));
    return length === 32 ? address : `${address}/${length}`;
  }

  draw(): void {
    const { canvas } = this;
    const size = Math.round(canvas.clientWidth * devicePixelRatio);
    if (size === 0) return;
    canvas.width = canvas.height = size;
    const context = canvas.getContext("2d")!;
    context.imageSmoothingEnabled = false;
    this.#drawCells(context, size);
    this.#drawGrid(context, size);
    this.#drawCursor(context, size);
  }

  #drawCells(context: CanvasRenderingContext2D, size: number): void {
    const style = getComputedStyle(this.root);
    const side = this.#side;
    const [filled, hatched] = [smallCanvas(side), smallCanvas(side)];
    filled.fillStyle = style.getPropertyValue("--m0");
    filled.fillRect(0, 0, side, side);
    hatched.fillStyle = "#000";
    for (const [cell, value] of this.#values) {
      const step = stepOf(this.#steps, value);
      if (step === undefined) continue;
      const { x, y } = this.#pointOf(cell);
      filled.fillStyle = style.getPropertyValue(`--m${step.color}`);
      filled.fillRect(x, y, 1, 1);
      if (step.isHatched) hatched.fillRect(x, y, 1, 1);
    }
    context.drawImage(filled.canvas, 0, 0, size, size);
    context.drawImage(hatch(hatched, size, style.getPropertyValue("--muted")), 0, 0);
  }

  /** Lines between blocks, and the number that each block adds to the address. */
  #drawGrid(context: CanvasRenderingContext2D, size: number): void {
    const style = getComputedStyle(this.root);
    const blocks = this.#side / BLOCK;
    const block = size / blocks;
    context.strokeStyle = style.getPropertyValue("--line-strong");
    context.globalAlpha = 0.45;
    context.lineWidth = 1;
    context.beginPath();
    for (let i = 1; i < blocks; i++) {
      const at = Math.round(i * block) + 0.5;
      context.moveTo(at, 0);
      context.lineTo(at, size);
      context.moveTo(0, at);
      context.lineTo(size, at);
    }
    context.stroke();
    context.globalAlpha = 1;
    context.font = `${Math.round(Math.min(block * 0.36, 12 * devicePixelRatio))}px system-ui`;
    context.textBaseline = "top";
    context.lineWidth = 3;
    context.strokeStyle = style.getPropertyValue("--surface");
    context.fillStyle = style.getPropertyValue("--text");
    const first = this.#first / BLOCK ** 2;
    for (let i = 0; i < blocks * blocks; i++) {
      const { x, y } = this.#pointOf(i * BLOCK * BLOCK);
      const [left, top] = [x, y].map((one) => Math.floor(one / BLOCK) * block + block * 0.1);
      context.globalAlpha = 0.75;
      const number = String((first + i) % BLOCK ** 2);
      context.strokeText(number, left, top);
      context.globalAlpha = 1;
      context.fillText(number, left, top);
    }
  }

  #drawCursor(context: CanvasRenderingContext2D, size: number): void {
    const { x, y } = this.#pointOf(this.#cell);
    const cell = size / this.#side;
    const style = getComputedStyle(this.root);
    const margin = 2 * devicePixelRatio;
    context.lineWidth = margin;
    context.strokeStyle = style.getPropertyValue("--s2");
    context.strokeRect(
      x * cell - margin,
      y * cell - margin,
      cell + 2 * margin,
      cell + 2 * margin,
    );
  }

  #listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.#select(this.#cellOf(event), event));
    canvas.addEventListener("pointerleave", () => this.#tip.hidden = true);
    canvas.addEventListener("click", (event) => {
      this.#select(this.#cellOf(event));
      if (event.detail > 0 && !matchMedia("(pointer: coarse)").matches) this.#enter();
    });
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  #cellOf(event: MouseEvent): number {
    const box = this.canvas.getBoundingClientRect();
    const side = this.#side;
    const inside = (share: number) => Math.min(side - 1, Math.max(0, Math.floor(share * side)));
    return this.#cellAt({
      x: inside((event.clientX - box.left) / box.width),
      y: inside((event.clientY - box.top) / box.height),
    });
  }

  get #tip(): HTMLElement {
    return this.root.querySelector<HTMLElement>("[data-tip]")!;
  }

  /** Shows what is known of a cell, beside the pointer and in the panel. */
  #select(cell: number, event?: MouseEvent): void {
    if (cell !== this.#cell) {
      this.#cell = cell;
      this.draw();
    }
    const text = `${this.#networkOf(cell)}: ${this.#valueText(this.#values.get(cell))}`;
    this.root.querySelector("[data-cell]")!.textContent = text;
    const links = this.root.querySelectorAll<HTMLAnchorElement>("a[data-link]");
    for (const link of links) {
      const isServers = link.dataset.link === "servers";
      link.hidden = !isServers && this.square.prefix === 16;
      link.href = isServers ? this.#serversUrl() : this.#mapUrl(this.#networkOf(cell, true));
    }
    this.#tip.hidden = event === undefined;
    if (event === undefined) return;
    const box = this.root.getBoundingClientRect();
    this.#tip.textContent = text;
    const left = Math.min(event.clientX - box.left + 14, box.width - this.#tip.offsetWidth);
    this.#tip.style.transform = `translate(${left}px, ${event.clientY - box.top + 14}px)`;
  }

  #valueText(value: number | undefined): string {
    const step = value === undefined ? undefined : stepOf(this.#steps, value);
    if (value === undefined || step === undefined) return "nothing";
    const { layer } = this.square;
    if (layer === "age") return `last probe ${step.label === "older" ? "long" : step.label} ago`;
    if (layer === "scanned") return step.label;
    const noun = layer === "online" ? "online" : value === 1 ? "server" : "servers";
    return `${value.toLocaleString("en")} ${noun}`;
  }

  #serversUrl(): string {
    const query = new URLSearchParams(this.square.query);
    query.delete("layer");
    query.set("network", this.#networkOf(this.#cell));
    return `/servers?${query}`;
  }

  /** The URL of a map. Its fragment lets the browser focus the canvas, so that keys go on working. */
  #mapUrl(network: string): string {
    return `/map?${this.square.query}&prefix=${network}#map`;
  }

  /** Enlarges the block of the chosen cell, or lists the servers of an address. */
  #enter(): void {
    location.assign(
      this.square.prefix === 16
        ? this.#serversUrl()
        : this.#mapUrl(this.#networkOf(this.#cell, true)),
    );
  }

  /** Shows the whole square, or the network around it. */
  #leave(): void {
    const { prefix, address, shown } = this.square;
    if (shown.prefix > prefix) {
      location.assign(this.#mapUrl(`${addressText(address)}/${prefix}`));
      return;
    }
    if (prefix === 0) return;
    const around = prefix === 8 ? 0 : Math.floor(address / 2 ** 24) * 2 ** 24;
    location.assign(this.#mapUrl(`${addressText(around)}/${prefix - 8}`));
  }

  /** Zooms by the wheel with Ctrl, as pinching on a touchpad does; without it, the page scrolls. */
  #wheel(event: WheelEvent): void {
    if (!event.ctrlKey) return;
    const isIn = event.deltaY < 0;
    if (!isIn && this.square.shown.prefix === 0 || isIn && this.square.prefix === 16) return;
    event.preventDefault();
    if (event.timeStamp - this.#lastWheel < 600) return;
    this.#lastWheel = event.timeStamp;
    if (isIn) this.#enter();
    else this.#leave();
  }

  #key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { x, y } = this.#pointOf(this.#cell);
    const step = event.shiftKey ? BLOCK : 1;
    const moves: Readonly<Record<string, Point>> = {
      ArrowLeft: { x: x - step, y },
      ArrowRight: { x: x + step, y },
      ArrowUp: { x, y: y - step },
      ArrowDown: { x, y: y + step },
    };
    const inside = (share: number) => Math.min(this.#side - 1, Math.max(0, share));
    const move = moves[event.key];
    if (move !== undefined) {
      this.#select(this.#cellAt({ x: inside(move.x), y: inside(move.y) }));
    } else if (event.key === "Enter" || event.key === "+") this.#enter();
    else if (event.key === "Escape" || event.key === "-") this.#leave();
    else return;
    event.preventDefault();
  }
}

/** A canvas with a pixel for each cell. */
function smallCanvas(side: number): CanvasRenderingContext2D {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  return canvas.getContext("2d")!;
}

/** The cells of a small canvas, filled with slanted lines. */
function hatch(cells: CanvasRenderingContext2D, size: number, color: string): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d")!;
  context.imageSmoothingEnabled = false;
  context.drawImage(cells.canvas, 0, 0, size, size);
  context.globalCompositeOperation = "source-in";
  const distance = 6 * devicePixelRatio;
  context.strokeStyle = color;
  context.lineWidth = 1.5 * devicePixelRatio;
  context.beginPath();
  for (let at = -size; at < size; at += distance) {
    context.moveTo(at, size);
    context.lineTo(at + size, 0);
  }
  context.stroke();
  return canvas;
}

/** Shows the map of a page, or why there is none. */
async function start(): Promise<void> {
  const root = document.querySelector<HTMLElement>("[data-map]");
  const canvas = root?.querySelector("canvas");
  if (!root || !canvas) return;
  const { address, prefix, shownAddress, shownPrefix, layer = "", query = "" } = root.dataset;
  const map = new AddressMap(root, canvas, {
    ...{ address: Number(address), prefix: Number(prefix) },
    shown: { address: Number(shownAddress), prefix: Number(shownPrefix) },
    ...{ layer, query },
  });
  root.ariaBusy = "true";
  try {
    await map.load();
  } catch (error) {
    root.querySelector("[data-cell]")!.textContent = String(error);
  }
  root.ariaBusy = "false";
}

void start();
