import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../../src/fleet/random.ts";
import { RecentReplies } from "../../../../src/net/linux/syn/recent_replies.ts";

const REPLY = { state: "open", address: 0xf0000001, port: 25565, token: 0xffff_ffff } as const;

Deno.test("a reply is repeated only if address, port, state and token are equal", () => {
  const recent = new RecentReplies();
  const add = (other: Partial<typeof REPLY> | { state: "refused" }) =>
    recent.add({ ...REPLY, ...other }, 5);
  assertEquals([add({}), add({}), add({})], [0, 1, 2]);
  assertEquals(add({ address: 0xf0000002 } as object), 0);
  assertEquals(add({ port: 25566 } as object), 0);
  assertEquals(add({ token: 0xffff_fffe } as object), 0);
  assertEquals(add({ state: "refused" }), 0);
});

Deno.test("SYN-ACKs are repeated within a minute, other replies within a second", () => {
  const recent = new RecentReplies();
  const start = 2 ** 32 - 500; // the time overflows
  for (const [state, late] of [["open", 2], ["refused", 0], ["unreachable", 0]] as const) {
    const reply = { ...REPLY, state };
    assertEquals(recent.add(reply, start), 0);
    assertEquals(recent.add(reply, start + 999), 1, state);
    assertEquals(recent.add(reply, start + 1000), late, state);
    assertEquals(recent.add(reply, start + 62_000), 0, state);
  }
});

Deno.test("most of the last 10,000 replies of neighbours are found again, and no other", () => {
  const recent = new RecentReplies();
  const random = new Random(3);
  const replies = Array.from(
    { length: 100_000 },
    (_, i) => ({ ...REPLY, address: 0x0a000000 + i, token: random.below(2 ** 32) }),
  );
  for (const reply of replies) assertEquals(recent.add(reply, 5), 0);
  const found = replies.slice(-10_000).filter((reply) => recent.add(reply, 5) > 0).length;
  assert(found > 8000, `${found}`);
});
