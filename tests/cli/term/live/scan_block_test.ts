/**
 * Also covers src/cli/term/server_description.ts, src/app/outputs/latest_rows.ts and
 * src/app/outputs/row_observer.ts.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { LatestRows } from "../../../../src/app/outputs/latest_rows.ts";
import {
  bar,
  fitsBlock,
  scanBlockLines,
  type ScanView,
  sparkline,
  SpeedHistory,
} from "../../../../src/cli/term/live/scan_block.ts";
import { displayWidth } from "../../../../src/core/display_width.ts";
import { emptyRecord, type ServerRecord } from "../../../../src/core/record.ts";
import { newState, type ScanState } from "../../../../src/scan/setup/scan_state.ts";

function server(last: number, over: Partial<ServerRecord> = {}): ServerRecord {
  return { ...emptyRecord({ address: 0x7f000000 + last, port: 19132 }, 0), ...over };
}

const PROGRESS = {
  elapsed: 38,
  left: 65,
  share: 0.5,
  rate: 5000.4,
  replyRate: 12.3,
  hitRate: 0.024,
};

/** The state of a scan in its second pass. */
function stateOf(over: Partial<ScanState> = {}): ScanState {
  const state = { ...newState("x", 0), pass: 2, passes: 4, sent: 18_000, written: 430, ...over };
  state.replies.valid = 432;
  return state;
}

function view(over: Partial<ScanView> = {}): ScanView {
  return {
    state: stateOf(),
    progress: PROGRESS,
    limitedBy: "net-rate",
    samples: [0, 1250, 2500, 5000].map((sent) => ({ sent, found: sent / 400 })),
    latest: [],
    color: false,
    ...over,
  };
}

// deno-lint-ignore no-control-regex
const withoutStyles = (text: string) => text.replace(/\x1b\[[\d;]*m/g, "");

Deno.test("the block shows progress, speeds with figures, losses and the latest servers", () => {
  const latest = [
    server(1, { name: "Lobby", players_online: 3, players_max: 20, version: "1.21.50" }),
    server(22, { name: "Survival" }),
  ];
  assertEquals(scanBlockLines(view({ latest }), 80), [
    "progress  [██████████████              ]   50.0%  ETA 1:05     0:38 elapsed",
    "          pass 2/4  18,000 sent  430 rows written",
    "rate                         ▁▃▅█    5,000/s  (limited by --net-rate)",
    "hits                         ▁▃▅█       12/s  432 found, hit rate 2.4%",
    "losses    packets: not measured yet",
    "found     127.0.0.1:19132   3/20  1.21.50  Lobby",
    "          127.0.0.22:19132                 Survival",
  ]);
});

Deno.test("the block of an adaptive scan has its yield and its estimate, and no number of passes", () => {
  const estimate = { found: 40, total: 99.6, low: 80, high: 120, skipped: [] };
  const state = stateOf({
    adaptive: {
      ...{ spent: 9000, budget: 20_000, evenSweep: 40_000, found: 41, recentYield: 4321.4 },
      ...{
        level: 100,
        endedHosts: 0,
        endedNetworks: 0,
        estimates: [{ protocol: "raknet", estimate }],
      },
    },
  });
  assertEquals(
    scanBlockLines(view({ state }), 120)[1],
    "          pass 2  4,321 per million probes now  40 on default ports of about 100  " +
      "18,000 sent  430 rows written",
  );
});

Deno.test("losses are shown by cause, and those that do not fit are left out", () => {
  const canaries = {
    sent: 1000,
    lost: 20,
    stopped: 0,
    batches: 0,
    batchLost: 0,
    batchSquares: 0,
    firstFound: 0,
    secondFound: 0,
  };
  const state = stateOf({ canaries, lost: 3, dropped: 1200, uninspected: 5, refused: 7 });
  const line = (columns: number) => scanBlockLines(view({ state }), columns)[4];
  assertEquals(
    line(200),
    "losses    about 2% of packets  3 not written  1,200 dropped: buffer full or bad checksum  " +
      "7 refused by the system",
  );
  assertEquals(
    line(80),
    "losses    about 2% of packets  3 not written",
  );
  state.lost =
    state.dropped =
    state.refused =
    state.uninspected =
      0;
  assertEquals(line(80), "losses    about 2% of packets  (95% confidence: 1.2 to 3.1%)");
});

Deno.test("no line is wider than the terminal, whatever servers send", () => {
  const hostile = [
    "\x1b[2J\x1b]0;title\x07\r\n\u009b31m\u202eevil",
    "§l§c大人気サーバー".repeat(200),
    "§#ff8800🎮a\u0301\u0301\u0301".repeat(300),
    `a${"\u0301".repeat(5000)}`,
    "\u200b\u2066\u2028\ufeff x".repeat(50),
    "§k❤\ufe0f".repeat(100),
  ];
  for (const text of hostile) {
    const all = { name: text, motd: text, version: text, software: text };
    const latest = [server(1, all), server(2, { ...all, edition: "bedrock" }), server(3, all)];
    for (const color of [false, true]) {
      for (let columns = 80; columns <= 200; columns += 7) {
        for (const line of scanBlockLines(view({ latest, color }), columns)) {
          const shown = withoutStyles(line);
          assert(color || shown === line, line);
          assert(displayWidth(shown) < columns, `${columns}: ${shown}`);
          assert(!/[\p{Cc}\u202e\u200b\u2028\u2066]/u.test(shown), JSON.stringify(shown));
        }
      }
    }
  }
});

Deno.test("names have the colours of the MOTD, and the colour ends with the name", () => {
  const latest = [server(1, { name: "Hi you", motd: "Hi §cyou" })];
  const line = scanBlockLines(view({ latest, color: true }), 80).at(-1)!;
  assertStringIncludes(line, "\x1b[0mHi \x1b[0;38;5;203myou\x1b[0m");
  const cut = server(1, { name: "x", motd: `§c${"大".repeat(100)}§aend` });
  const long = scanBlockLines(view({ latest: [cut], color: true }), 80).at(-1)!;
  assert(long.endsWith("大…\x1b[0m"), long);
  assertEquals(displayWidth(withoutStyles(long)), 78); // the next character has two columns
});

Deno.test("the block needs a terminal of 80 columns and 20 rows", () => {
  assertEquals(
    [[80, 20], [79, 24], [80, 19], [200, 60]].map(([columns, rows]) =>
      fitsBlock({ columns, rows })
    ),
    [true, false, false, true],
  );
});

Deno.test("a bar grows by eighths of a column", () => {
  assertEquals(
    [0, 1 / 32, 0.25, 0.5, 0.9, 1, 2].map((share) => bar(share, 4)),
    ["    ", "▏   ", "█   ", "██  ", "███▌", "████", "████"],
  );
});

Deno.test("a sparkline shows the latest values, and only 0 as its lowest bar", () => {
  assertEquals(sparkline([], 4), "    ");
  assertEquals(sparkline([0, 0], 4), "  ▁▁");
  assertEquals(sparkline([9, 0, 0.001, 4, 8], 4), "▁▂▅█");
});

Deno.test("speeds are sampled once a second for a minute", () => {
  const state = newState("x", 0);
  const history = new SpeedHistory(state, 10);
  for (let i = 1; i <= 200; i++) {
    state.sent += 50;
    state.tcp.sent += 10;
    state.replies.valid += 1;
    history.add(state, 10 + i / 2);
  }
  assertEquals(history.samples, Array(60).fill({ sent: 120, found: 2 }));
});

Deno.test("a speed after a long pause is an average", () => {
  const state = newState("x", 0);
  const history = new SpeedHistory(state, 0);
  state.sent = 1000;
  history.add(state, 10);
  assertEquals(history.samples, [{ sent: 100, found: 0 }]);
});

Deno.test("the latest rows are kept, the newest first", async () => {
  const latest = new LatestRows(3);
  const ports = () => latest.rows.map(({ host }) => host);
  await latest.write([server(1)]);
  assertEquals(ports(), ["127.0.0.1"]);
  await latest.write([2, 3, 4, 5].map((last) => server(last)));
  assertEquals(ports(), ["127.0.0.5", "127.0.0.4", "127.0.0.3"]);
  await latest.write([]);
  await latest.write([server(6)]);
  assertEquals(ports(), ["127.0.0.6", "127.0.0.5", "127.0.0.4"]);
});

Deno.test("an unknown time left and an ended scan are shown", () => {
  const [unknown] = scanBlockLines(view({ progress: { ...PROGRESS, left: Infinity } }), 80);
  assertMatch(unknown, /ETA \? /);
  const [full] = scanBlockLines(view({ progress: { ...PROGRESS, share: 1 } }), 80);
  assertStringIncludes(full, "█]  100.0%");
});
