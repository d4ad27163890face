import { assertEquals, assertThrows } from "@std/assert";
import { readCommandLine } from "../../cli/command_line.ts";
import { planOutputs } from "../../../src/app/outputs/plan_outputs.ts";
import { ROW_ORDERS, SortingSink } from "../../../src/app/outputs/sorting_sink.ts";
import { InputError } from "../../../src/core/errors.ts";
import { emptyRecord, serverId, type ServerRecord } from "../../../src/core/record.ts";
import type { Sink } from "../../../src/sinks/sink.ts";

const row = (host: string, port: number, over: Partial<ServerRecord> = {}): ServerRecord => ({
  ...emptyRecord({ address: 1, port }, 0),
  ...{ host, ...over },
});

const ROWS = [
  row("10.0.0.10", 7, { name: "beta", players_online: 3 }),
  row("::1", 7, { name: null, players_online: null }),
  row("10.0.0.9", 70, { name: "Alpha 10", players_online: 3 }),
  row("10.0.0.9", 8, { name: "alpha 9", players_online: 40 }),
];

/** The rows of a table in an order. */
async function sorted(order: keyof typeof ROW_ORDERS): Promise<string[]> {
  const [written, calls]: [string[], string[]] = [[], []];
  const inner: Sink = {
    write: (records) => {
      calls.push("write");
      written.push(...records.map(serverId));
      return Promise.resolve();
    },
    flush: () => Promise.resolve(),
    position: () => 0,
    [Symbol.asyncDispose]: () => {
      calls.push("close");
      return Promise.resolve();
    },
  };
  {
    await using sink = new SortingSink(inner, ROW_ORDERS[order]());
    for (const one of ROWS) await sink.write([one]);
    assertEquals(written, []);
  }
  assertEquals(calls, ["write", "close"]);
  return written;
}

Deno.test("rows are sorted by address as numbers, players, or name", async () => {
  const [a, b, c, d] = ["10.0.0.9:8", "10.0.0.9:70", "10.0.0.10:7", "[::1]:7"];
  assertEquals(await sorted("address"), [a, b, c, d]);
  assertEquals(await sorted("players"), [a, b, c, d]);
  assertEquals(await sorted("name"), [a, b, c, d]);
});

Deno.test("--sort is allowed only for the table on standard output", () => {
  const orders = {
    address: ROW_ORDERS.address(),
    players: ROW_ORDERS.players(),
    name: ROW_ORDERS.name(),
  };
  const plan = (...args: string[]) => {
    const { options } = readCommandLine("scan", args);
    const order = options.sort && orders[options.sort];
    return planOutputs(options, 80, undefined, order).map(({ order }) => order);
  };
  assertEquals(plan("--sort", "name"), [orders.name]);
  assertEquals(plan("--sort", "name", "-o", "-", "-o", "a.csv"), [orders.name, undefined]);
  assertEquals(plan(), [undefined]);
  assertThrows(() => plan("--sort", "nme"), InputError, "address, players, name");
  assertThrows(() => plan("--sort", "name", "-o", "a.csv"), InputError, "Cannot use --sort: it is");
  assertThrows(() => plan("--sort", "name", "--format", "csv"), InputError, "it is for a table");
});
