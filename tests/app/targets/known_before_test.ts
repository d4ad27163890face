/** Covers src/app/targets/rescan_targets.ts: the servers that an adaptive scan begins with. */
import { assertEquals, assertRejects } from "@std/assert";
import { emptyRecord } from "../../../src/core/record.ts";
import { InputError } from "../../../src/core/errors.ts";
import { knownBefore } from "../../../src/app/targets/rescan_targets.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { couriered } from "../../watch/courier_protocol.ts";

const allProtocols = couriered(PROTOCOLS);

/** The protocols in which a scan begins with each server of a file, if it uses some protocols. */
async function probedWith(names: readonly string[]): Promise<readonly string[]> {
  const path = await Deno.makeTempFile({ suffix: ".ndjson" });
  try {
    const rows = [["raknet"], ["courier"], ["slp"], ["raknet", "query"]].map((protocols, i) => ({
      ...emptyRecord({ address: 0x7f000001 + i, port: 19132 }, 1000),
      ...{ protocol: protocols[0], protocols },
    }));
    await Deno.writeTextFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
    const protocols = allProtocols.filter(({ name }) => names.includes(name));
    const { servers } = await knownBefore(path, protocols, [], {} as never, () => {});
    return servers.map(({ protocols }) => protocols.join(" "));
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("an adaptive scan begins with known servers in their protocols and in siblings of these", async () => {
  assertEquals(await probedWith(["raknet", "courier", "query"]), [
    "raknet courier",
    "raknet courier",
    "raknet courier query",
  ]);
  assertEquals(await probedWith(["courier"]), ["courier", "courier", "courier"]);
  await assertRejects(() => probedWith(["sqp"]), InputError, "another protocol");
});
