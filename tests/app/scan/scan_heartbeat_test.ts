/** Covers src/app/scan/scan_heartbeat.ts. */
import { assertEquals } from "@std/assert";
import { ScanHeartbeat } from "../../../src/app/scan/scan_heartbeat.ts";
import type { ScanProgressRow } from "../../../src/store/scans/scan_progress.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { scanId } from "../../store/records.ts";

Deno.test("progress is stored a second after rows were written, and else every ten seconds", async () => {
  const network = new FakeNetwork(1);
  const start = network.now();
  const stored: string[] = [];
  let found = 0;
  const read = (): ScanProgressRow => ({ id: scanId(1), probesSent: 1, replies: 1, found });
  const progress = (row: ScanProgressRow) => {
    stored.push(`${Math.round((network.now() - start) / 1000)} s ${row.found}`);
    return Promise.resolve();
  };
  const refused: string[] = [];
  const refuse = () => Promise.reject(new Error("permission denied"));
  const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  await network.run((async () => {
    await using heartbeat = new ScanHeartbeat({
      read,
      clock: network,
      report: (line) => refused.push(line),
      sinks: [{ progress }, { progress: refuse }],
    });
    await later(10_500);
    found = 5;
    await later(11_000);
    await heartbeat[Symbol.asyncDispose]();
    await later(60_000);
  })());
  assertEquals(stored, ["10 s 0", "11 s 5", "21 s 5"]);
  assertEquals(refused, ["blocksweep: permission denied"]);
});
