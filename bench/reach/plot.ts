/** Draws yield curves as an SVG picture. */
import { type Case, shareAt, type Yields } from "./case.ts";
import { Run } from "./explore.ts";
import { createWorld, SIZE } from "./world.ts";
import { rivalsOnAllPorts } from "./rivals.ts";

/** The picture and its margins, in pixels. */
const PICTURE = { width: 720, height: 440, left: 56, right: 32, top: 16, bottom: 48 };
/** The range of budgets, in A, on a logarithmic axis. */
const AXIS = { from: 0.001, to: 1 };
const COLORS = ["#0b62a4", "#c0392b", "#2e8b57", "#7d5ba6", "#666666"];
/** Number of points of a curve. */
const POINTS = 120;

/** The horizontal place of a budget in A. */
function x(budget: number): number {
  const { width, left, right } = PICTURE;
  const part = Math.log(budget / AXIS.from) / Math.log(AXIS.to / AXIS.from);
  return Math.round((left + part * (width - left - right)) * 10) / 10;
}

/** The vertical place of a share. */
function y(share: number): number {
  const { height, top, bottom } = PICTURE;
  return Math.round((height - bottom - share * (height - top - bottom)) * 10) / 10;
}

function text(at: readonly [number, number], content: string, rest = ""): string {
  return `<text x="${at[0]}" y="${at[1]}"${rest}>${content}</text>`;
}

function line(from: readonly [number, number], to: readonly [number, number]): string {
  return `<path d="M${from} L${to}" stroke="#ddd"/>`;
}

/** The grid with its numbers, and the titles of the axes. */
function axes(): string[] {
  const { width, height, left, right, bottom } = PICTURE;
  const budgets = [0.001, 0.01, 0.1, 1].flatMap((budget) => [
    line([x(budget), y(0)], [x(budget), y(1)]),
    text([x(budget), y(0) + 18], `${budget * 100} %`, ' text-anchor="middle"'),
  ]);
  const shares = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    line([left, y(share)], [width - right, y(share)]),
    text([left - 8, y(share) + 4], `${share * 100} %`, ' text-anchor="end"'),
  ]);
  const titles = [
    text(
      [(left + width - right) / 2, height - bottom + 38],
      "probes, of one for each address",
      ' text-anchor="middle"',
    ),
    text([left + 8, y(1) + 16], "servers found"),
  ];
  return [...budgets, ...shares, ...titles];
}

/** One curve with its line in the legend. */
function curve(way: Yields, i: number): string[] {
  const budgets = Array.from(
    { length: POINTS + 1 },
    (_, point) => AXIS.from * (AXIS.to / AXIS.from) ** (point / POINTS),
  );
  const points = budgets.map((budget) => `${x(budget)},${y(shareAt(way, budget))}`);
  const stroke = `fill="none" stroke="${COLORS[i]}" stroke-width="2"`;
  const legend: [number, number] = [PICTURE.left + 12, y(1) + 40 + 18 * i];
  return [
    `<polyline points="${points.join(" ")}" ${stroke}/>`,
    `<path d="M${legend} h20" ${stroke}/>`,
    text([legend[0] + 26, legend[1] + 4], way.name),
  ];
}

/** The picture of some curves, at most five. */
export function drawYields(ways: readonly Yields[]): string {
  const { width, height } = PICTURE;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
    'font-family="sans-serif" font-size="12">',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...axes(),
    ...ways.flatMap(curve),
    "</svg>\n",
  ].join("\n");
}

/** The picture of the documents. */
export const plot: Case = {
  purpose: "draws the yields on all ports, and writes the picture",
  file: "FILE.svg",
  run(seeds, file) {
    const worlds = seeds.map(createWorld);
    const curves = worlds.map((world) => Run.of({ world, budget: SIZE }).all);
    const servers = worlds.map((world) => world.servers.length);
    const ways = [{ name: "adaptive", curves, servers }, ...rivalsOnAllPorts(worlds)];
    Deno.writeTextFileSync(file, drawYields(ways));
    return [];
  },
};
