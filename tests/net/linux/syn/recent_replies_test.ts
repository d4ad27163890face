import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../../src/fleet/random.ts";
import { RecentReplies } from "../../../../src/net/linux/syn/recent_replies.ts";

Deno.test("a SYN-ACK is repeated only if address, port and token are equal", () => {
  const recent = new RecentReplies();
  assertEquals(recent.add(0xf0000001, 25565, 0xffff_ffff), false);
  assertEquals(recent.add(0xf0000001, 25565, 0xffff_ffff), true);
  assertEquals(recent.add(0xf0000001, 25565, 0xffff_ffff), true);
  assertEquals(recent.add(0xf0000002, 25565, 0xffff_ffff), false);
  assertEquals(recent.add(0xf0000001, 25566, 0xffff_ffff), false);
  assertEquals(recent.add(0xf0000001, 25565, 0xffff_fffe), false);
});

Deno.test("most of the last 10,000 SYN-ACKs of neighbours are found again, and no other", () => {
  const recent = new RecentReplies();
  const random = new Random(3);
  const replies = Array.from(
    { length: 100_000 },
    (_, i) => [0x0a000000 + i, 25565, random.below(2 ** 32)] as const,
  );
  for (const reply of replies) assertEquals(recent.add(...reply), false);
  const found = replies.slice(-10_000).filter((reply) => recent.add(...reply)).length;
  assert(found > 8000, `${found}`);
});
