/** Servers whose replies were lost in a flood, in databases. */
import { systemClock } from "../../../src/net/clock.ts";
import { assertEquals } from "@std/assert";
import { readCommandLine } from "../../cli/command_line.ts";
import { connectionEnvironment } from "../../../src/app/options/connection_environment.ts";
import { planDatabases } from "../../../src/app/databases/database_plan.ts";
import { endRow } from "../../../src/app/scan/scan_rows.ts";
import { ScanDatabases } from "../../../src/app/scan/scan_databases.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { type Result, scanFleet, type Setting } from "../../scan/scan_harness.ts";
import { all } from "../../store/databases.ts";
import { scanId } from "../../store/records.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100400 };
const FLEET = { servers: 64, range: { ...RANGE, end: RANGE.start + 256 }, seed: 3 };
const SETTING: Setting = {
  ...{ fleet: { ...FLEET, software: ["bds"] }, range: RANGE, retries: 0, audited: false },
  ...{ protocolNames: ["raknet"], ports: () => [19132] },
  rates: { rate: 10_000, netRate: undefined, hostRate: undefined },
};

/**
 * Floods the sockets of the scan while it probes all targets. The replies of eight servers are
 * lost.
 */
const FLOOD: Setting["prepare"] = (network, hosts) => {
  for (const { endpoint } of hosts.slice(0, 8)) network.host(endpoint, { respond: () => [] });
  const end = network.now() + 1000;
  const flood = () => {
    for (const port of network.ports) {
      for (let i = 0; i < 100; i++) {
        const from = { address: RANGE.end - 1, port: i % 2 === 0 ? 9000 : 19132 };
        network.inject(from, { port }, Uint8Array.of(7));
      }
    }
    if (network.now() < end) network.after(5, flood);
  };
  network.after(1, flood);
};

/** Scans into a database. */
async function scanInto(path: string, id: string, setting: Setting): Promise<Result> {
  const { network } = setting;
  const { options } = readCommandLine("scan", ["127.16.0.0/22", "-o", path]);
  const scope = {
    allProtocols: PROTOCOLS,
    protocols: setting.protocolNames!,
    follow: true,
    verify: false,
  };
  const plan = planDatabases(options);
  await using stores = await ScanDatabases.open(plan, {
    spill: `${path}.spill`,
    report: () => {},
    scope,
    environment: connectionEnvironment(() => {}),
    clock: systemClock,
  });
  const since = network!.wall() - 1; // a program takes about this time to start
  await stores.begin({ id, at: since, config: "{}" });
  const state = newState(id, network!.now());
  const result = await scanFleet({ ...setting, sinks: stores.sinks, state });
  await stores.end(
    endRow(state, result.end, { since, selection: result.options, resumed: false }),
  );
  return result;
}

async function countMissed(path: string): Promise<unknown> {
  await using database = openSqlite(path, { readOnly: true });
  const counts = "select count(*) as servers, sum(missed_scans) as missed from server_state";
  return (await all(database, counts))[0];
}

const SQP = { ...FLEET, software: ["sqpFull"] };
const listed = drawFleet(SQP).map(({ endpoint }) => endpoint);
/** Known SQP servers. They are interviewed while the pass probes all other targets. */
const INTERVIEWED: Setting = {
  ...{ ...SETTING, fleet: SQP, ports: () => [9000], first: listed, queriesKnown: true },
  known: listed.map((endpoint) => ({ endpoint, protocols: ["sqp"] })),
};

for (const [what, setting] of Object.entries({ probed: SETTING, interviewed: INTERVIEWED })) {
  Deno.test(`databases count no failures of servers that were ${what} while hosts flooded`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const path = `${folder}/a.db`;
      const network = new FakeNetwork(1);
      await scanInto(path, scanId(1), { ...setting, network });
      assertEquals(await countMissed(path), { servers: 64, missed: 0 });
      const flooded = await scanInto(path, scanId(2), { ...setting, network, prepare: FLOOD });
      const { end, state } = flooded;
      assertEquals([end.reason, state.floods.disturbed], ["done", ["raknet"]]);
      assertEquals(state.written, 56);
      assertEquals(await countMissed(path), { servers: 64, missed: 0 });
      await scanInto(path, scanId(3), {
        ...{ ...setting, network },
        prepare: (_network, [{ endpoint }]) => network.host(endpoint, { respond: () => [] }),
      });
      assertEquals(await countMissed(path), { servers: 64, missed: 1 });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
