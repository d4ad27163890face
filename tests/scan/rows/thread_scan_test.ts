/** Covers src/scan/rows/made_rows.ts and src/scan/rows/row_maker.ts: scans with a thread for rows. */
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { Aliases } from "../../../src/scan/rows/aliases.ts";
import { rowsMaker } from "../../../src/scan/rows/made_rows.ts";
import { packRows, unpackRows } from "../../../src/scan/rows/packed_rows.ts";
import { RowMaker } from "../../../src/scan/rows/row_maker.ts";
import type { MakingThread, RowThreadOptions } from "../../../src/scan/rows/thread_start.ts";
import { optOutFilter } from "../../../src/targets/shipped_lists.ts";
import { FakeDisk } from "../../fakes/disk.ts";
import { OUTPUTS, resumeScan, startScan } from "../checkpoint/resumable_scan.ts";
import type { Setting } from "../scan_harness.ts";
import { longTest } from "../../long.ts";

/** The number of rows that threads have made. */
let made = 0;

/** Does the work of a thread in this one, after other work that is already due. */
function fakeThread({ key, ...options }: RowThreadOptions): MakingThread {
  const aliases = new Aliases(key, PROTOCOLS);
  const maker = new RowMaker({ ...options, allProtocols: PROTOCOLS }, aliases);
  const makeRows = rowsMaker(maker, Object.values(OUTPUTS));
  return {
    isReady: true,
    begin: (state) => aliases.state = structuredClone(state),
    make: async (sources) => {
      made += sources.length;
      const packed = structuredClone(packRows(sources, PROTOCOLS));
      await Promise.resolve();
      return makeRows(unpackRows(packed, PROTOCOLS));
    },
    close: () => {},
  };
}

const PONGS: Setting = {
  fleet: {
    ...{ servers: 3800, hostile: 100, range: { start: 0x7f100000, end: 0x7f101000 }, seed: 11 },
    software: ["bds", "pocketmine"],
  },
  faults: { loss: 0, duplication: 0.1, delay: 100, jitter: 300 },
  protocolNames: ["raknet"],
  rates: { rate: 40_000, netRate: undefined, hostRate: undefined },
  mayOptOut: optOutFilter(),
  cooldownMs: 1000,
  retries: 0,
};

const texts = (disk: FakeDisk) => Object.keys(OUTPUTS).map((path) => disk.text(path));

longTest(
  "a thread makes the same outputs, counts and opt-outs, with and without interviews",
  async () => {
    const range = { start: 0x7f100000, end: 0x7f102000 };
    const software = ["bds", "pocketmine", "paper"];
    const fleet = { ...PONGS.fleet, servers: 7000, range, software };
    for (const protocolNames of [["raknet"], ["raknet", "query"]]) {
      const setting = { ...PONGS, fleet, protocolNames, follow: false };
      const [plain, disk] = [new FakeDisk(), new FakeDisk()];
      const without = await startScan(plain, setting);
      made = 0;
      const { result } = await startScan(disk, { ...setting, startRowThread: fakeThread });
      assert(made > 500, `${made}`);
      assertEquals(texts(disk), texts(plain));
      assertEquals(result.state, without.result.state);
      assertEquals(result.optedOut, without.result.optedOut);
    }
  },
);

longTest(
  "a scan with a thread that is killed at any file operation has every server once",
  async () => {
    const setting = { ...PONGS, startRowThread: fakeThread };
    const whole = new FakeDisk();
    made = 0;
    await startScan(whole, setting);
    assert(made > 500, `${made}`);
    const servers = (disk: FakeDisk) =>
      texts(disk)[1]!.trim().split("\n").map((line) => JSON.parse(line).host).sort();
    const all = servers(whole);
    const { operations } = whole;
    const first = operations.findIndex(({ kind }) => kind === "rename") + 1;
    const random = new Random(5);
    for (let i = 0; i < 12; i++) {
      const count = first + random.below(operations.length - first);
      const disk = i % 2 === 0
        ? FakeDisk.after(operations, count, random.below(200))
        : FakeDisk.crashed(operations, count, random);
      await resumeScan(disk, setting);
      assertEquals(servers(disk), all, `${i}`);
      assertEquals(texts(disk)[0]!.trim().split("\n").length, all.length + 1, `${i}`);
    }
  },
);
