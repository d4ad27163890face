/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * Badges and banners as SVG images. Their texts are escaped, and nothing is loaded from elsewhere, so that
 * image proxies can show them.
 *
 * @module
 */
import { cutWidth } from "../../core/display_width.ts";
import { COLORS, parseFormatted, type TextRun } from "../../core/formatted/mod.ts";
import { percentText } from "../components/quantities.ts";
import { readableColor, type Scheme, TOKENS } from "../style/tokens.ts";
import { type BadgeFacts, type BadgeState, svgText, textWidth } from "./badge_facts.ts";
import {
  iconUrl,
  motdOptions,
  onlineServer,
  type StatusAnswer,
  versionName,
} from "./server_facts.ts";
import { wholeText } from "./formatted_texts.ts";

const FONTS = "Verdana,DejaVu Sans,sans-serif";

/** The grounds of messages on badges: white text on each has a contrast of at least 4.5. */
const BADGE_COLORS: Readonly<Record<BadgeState, string>> = {
  online: "#2f7d32",
  offline: "#c23b2e",
  unknown: "#6b6b6b",
};

/** The label's ground of a badge by scheme. */
const LABEL_COLORS: Readonly<Record<Scheme, string>> = { light: "#555555", dark: "#30363d" };

/** A badge of 20 px. */
export function badgeImage({ label, message, state }: BadgeFacts, scheme: Scheme): string {
  const [left, right] = [label, message].map((text) => textWidth(text, 11));
  const edge = left + 26; // the dot stands before the label
  const width = edge + right + 12;
  const text = `${label}: ${message}`;
  return String(
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width={width}
      height="20"
      role="img"
      aria-label={text}
    >
      <title>{text}</title>
      <rect width={width} height="20" rx="3" fill={LABEL_COLORS[scheme]} />
      <path
        d={`M${edge} 0H${width - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3H${edge}z`}
        fill={BADGE_COLORS[state]}
      />
      <circle cx="10" cy="10" r="4" fill={TOKENS[DOTS[state]].dark} />
      <g fill="#ffffff" font-family={FONTS} font-size="11">
        <text x="20" y="14" textLength={left}>{label}</text>
        <text x={edge + 6} y="14" textLength={right}>{message}</text>
      </g>
    </svg>,
  );
}

const DOTS = { online: "good", offline: "bad", unknown: "muted" } as const;

/** The sizes of banners, and what fits into them. */
export const BANNER_SIZES = {
  "468x60": { width: 468, height: 60, icon: 44, title: 13, text: 10, lines: [16, 29, 41, 54] },
  "560x95": { width: 560, height: 95, icon: 71, title: 15, text: 12, lines: [23, 44, 60, 82] },
} as const;

export type BannerSize = keyof typeof BANNER_SIZES;

/** A banner with icon, MOTD, players, version and uptime. */
export function bannerImage(
  answer: StatusAnswer,
  facts: BadgeFacts,
  size: BannerSize,
  scheme: Scheme,
): string {
  const { width, height, icon, title, text, lines } = BANNER_SIZES[size];
  const left = height;
  const columns = Math.floor((width - left - 12) / (0.66 * text));
  const color = (name: keyof typeof TOKENS) => TOKENS[name][scheme];
  const place = (height - icon) / 2;
  const shown = `${facts.label}: ${facts.message}`;
  const server = onlineServer(answer);
  const url = server === undefined ? null : iconUrl(answer);
  const [first = [], second = []] = server === undefined
    ? [[{ text: stateLine(facts), color: undefined, formats: "" }]]
    : motdLines(answer, scheme);
  return String(
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={shown}
    >
      <title>{shown}</title>
      <rect
        x="0.5"
        y="0.5"
        width={width - 1}
        height={height - 1}
        rx="4"
        fill={color("surface")}
        stroke={color("line")}
      />
      {url === null
        ? <rect x={place} y={place} width={icon} height={icon} rx="4" fill={color("raised")} />
        : <image x={place} y={place} width={icon} height={icon} href={url} />}
      <g font-family={FONTS} font-size={text} fill={color("text")}>
        <text x={left} y={lines[0]} font-size={title} font-weight="bold">{facts.label}</text>
        <circle
          cx={width - 14}
          cy={Math.round(lines[0] - title / 3)}
          r="5"
          fill={color(DOTS[facts.state])}
        />
        {[first, second].map((runs, i) => (
          <text x={left} y={lines[1 + i]}>{spansOf(runs, columns)}</text>
        ))}
        <text x={left} y={lines[3]} fill={color("muted")}>
          {cutWidth(lastLine(answer, facts), Math.floor(1.2 * columns))}
        </text>
      </g>
    </svg>,
  );
}

/** A run of a MOTD with its colour. */
interface ColoredRun {
  readonly text: string;
  readonly color: string | undefined;
  readonly formats: string;
}

/** The lines of a MOTD without the spaces around them, in colours that are readable on the ground. */
function motdLines(answer: StatusAnswer, scheme: Scheme): ColoredRun[][] {
  const { server } = answer.found!;
  const { raw } = wholeText(server.motd ?? "", motdOptions(server, answer));
  const { dialect } = motdOptions(server, answer);
  return raw.split("\n").map((line) =>
    parseFormatted(line.trim(), { dialect }).map((run) => coloredRun(run, scheme))
  );
}

function coloredRun({ text, style: { color, formats } }: TextRun, scheme: Scheme): ColoredRun {
  const hex = color === null ? undefined : COLORS.get(color) ?? color;
  return {
    text: svgText(text),
    color: hex && readableColor(hex, [TOKENS.surface[scheme]]),
    formats,
  };
}

/** The runs as spans, cut to a number of columns. */
function spansOf(runs: readonly ColoredRun[], columns: number) {
  let left = columns;
  return runs.map(({ text, color, formats }) => {
    const part = cutWidth(text, Math.max(0, left));
    left -= [...text].length;
    return part === "" ? null : (
      <tspan
        fill={color}
        font-weight={formats.includes("l") ? "bold" : undefined}
        font-style={formats.includes("o") ? "italic" : undefined}
      >
        {part}
      </tspan>
    );
  });
}

/** What stands in place of the MOTD of a server that is not online. */
function stateLine({ state, lastReply }: BadgeFacts): string {
  return state === "offline"
    ? `Offline, last reply ${lastReply} UTC`
    : "The server is not in the database";
}

/** Players, version and uptime, as far as they are known. */
function lastLine(answer: StatusAnswer, { message, state }: BadgeFacts): string {
  const { uptime } = answer.found ?? {};
  const server = onlineServer(answer);
  const version = server && versionName(server, answer);
  const players = message === "online" ? message : `${message} players`;
  return [
    ...state === "online" ? [players] : [],
    ...version ? [cutWidth(wholeText(version, { dialect: "java" }).clean, MAX_VERSION)] : [],
    ...uptime === undefined || uptime.watchedS === 0 ? [] : [
      `30 d: ${percentText(uptime.onlineS / uptime.watchedS)} up, ${
        percentText(uptime.watchedShare)
      } watched`,
    ],
  ].map(svgText).join(" · ");
}

/** Maximum width of a version, columns. */
const MAX_VERSION = 16;
