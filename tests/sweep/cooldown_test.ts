import { assert, assertEquals } from "@std/assert";
import { Random } from "../../src/fleet/random.ts";
import { cooldown, Outstanding } from "../../src/sweep/cooldown.ts";
import { RangeSet } from "../../src/targets/ranges.ts";
import { TargetSpace } from "../../src/targets/space.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";

const SIZE = 700; // more than are computed at a time
const space = (pass: number) =>
  new TargetSpace(
    [{ addresses: RangeSet.of([{ start: 0x0a000000, end: 0x0a000000 + SIZE }]), ports: [1] }],
    { seed: 3, pass },
  );

/** Passes whose targets are settled when their address is in the set. */
function passes(settled: Set<number>) {
  return (pass: number) => ({
    space: space(pass),
    settled: (targets: { ipv4: Uint32Array }, i: number) => settled.has(targets.ipv4[i]),
  });
}

/** The targets between two marks. */
function between(from: [number, number], to: [number, number]): number[] {
  const target = { address: 0 as number | bigint, port: 0 };
  const found: number[] = [];
  for (let pass = from[0]; pass <= to[0]; pass++) {
    const first = pass === from[0] ? from[1] : 0;
    const end = pass === to[0] ? to[1] : SIZE;
    for (let position = first; position < end; position++) {
      space(pass).at(position, target);
      found.push(target.address as number);
    }
  }
  return found;
}

Deno.test("a reply is outstanding until all targets between the marks are settled, in any order", () => {
  const random = new Random(8);
  const cases: [[number, number], [number, number]][] = [
    [[1, 0], [1, SIZE]],
    [[1, 650], [2, 10]],
    [[1, 100], [4, 0]],
    [[2, 255], [2, 258]],
  ];
  for (const [from, to] of cases) {
    const mark = ([pass, position]: [number, number]) => ({ pass, position });
    const waiting = new Set(between(from, to));
    const settled = new Set<number>();
    const outstanding = new Outstanding(mark(from), mark(to), passes(settled));
    while (waiting.size > 0) {
      assert(outstanding.some, `${waiting.size} have not replied`);
      const next = random.pick([...waiting]);
      waiting.delete(next);
      settled.add(next);
    }
    assertEquals(outstanding.some, false);
  }
});

Deno.test("no reply is outstanding when nothing was sent", () => {
  const nobody = new Outstanding({ pass: 3, position: 0 }, { pass: 3, position: 0 }, () => {
    throw new Error("a pass was looked at");
  });
  assertEquals(nobody.some, false);
});

Deno.test("a cooldown ends with the last reply, at its deadline, or at an earlier deadline", async () => {
  const network = new FakeNetwork(1);
  const to = { pass: 1, position: SIZE };
  const wait = async (settled: Set<number>, maxMs = () => 5000) => {
    const begun = network.now();
    const outstanding = new Outstanding({ pass: 1, position: 0 }, to, passes(settled));
    await network.run(cooldown(network, () => begun + maxMs(), outstanding));
    return network.now() - begun;
  };
  const all = between([1, 0], [1, SIZE]);
  assertEquals(await wait(new Set(all)), 0);
  assertEquals(await wait(new Set(all.slice(1))), 5000);
  const late = new Set(all.slice(1));
  network.after(900, () => late.add(all[0]));
  const waited = await wait(late);
  assert(waited >= 900 && waited <= 930, `${waited}`);
  let most = 5000;
  network.after(300, () => most = 1000);
  assertEquals(await wait(new Set(), () => most), 1000);
});
