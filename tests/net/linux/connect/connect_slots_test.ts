import { assertEquals } from "@std/assert";
import { Random } from "../../../../src/fleet/random.ts";
import { ConnectSlots } from "../../../../src/net/linux/connect/connect_slots.ts";

for (const words of [1, 4] as const) {
  for (const capacity of [1, 3, 64, 200]) {
    Deno.test(`${capacity} slots with addresses of ${words} words know which endpoints are pending`, () => {
      const slots = new ConnectSlots(capacity, words);
      const random = new Random(capacity + words);
      // Few different endpoints: some are pending in several slots.
      const endpoints = Array.from({ length: 2 * capacity }, () => ({
        address: Int32Array.from({ length: words }, () => random.below(3) - 1),
        port: random.below(2) + 65_534,
      }));
      const pending = new Map<number, string>();
      const key = (address: Int32Array, port: number) => `${address} ${port}`;
      for (let round = 0; round < 20 * capacity; round++) {
        const slot = slots.takeIdle() ??
          (slots.count < capacity ? slots.fill(100 + slots.count) : undefined);
        if (slot === undefined || random.below(3) === 0) {
          if (slot !== undefined) slots.addIdle(slot);
          if (pending.size === 0) continue;
          const settled = [...pending.keys()][random.below(pending.size)];
          slots.settle(settled, 0, round);
          pending.delete(settled);
          assertEquals(slots.takeSettled(), settled);
          slots.addIdle(settled);
          if (pending.size === 0) continue;
          const expired = slots.takePending();
          assertEquals(expired, [...pending.keys()][0]);
          pending.delete(expired);
          slots.addIdle(expired);
          continue;
        }
        const { address, port } = endpoints[random.below(endpoints.length)];
        slots.addresses.set(address, slot * words);
        slots.ports[slot] = port;
        slots.addPending(slot, round);
        pending.set(slot, key(address, port));
        if (round % 7 > 0) continue;
        const wanted = new Set(pending.values());
        for (const { address, port } of endpoints) {
          assertEquals(slots.hasPending(address, port), wanted.has(key(address, port)));
        }
      }
    });
  }
}
