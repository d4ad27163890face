import { assert, assertEquals } from "@std/assert";
import type { Endpoint } from "../../src/core/address.ts";
import { Endpoints } from "../../src/core/endpoints.ts";
import { Random } from "../../src/fleet/random.ts";
import { Holds } from "../../src/sweep/holds.ts";

const at = (address: number, port: number) => ({ address: 0x0a000000 + address, port });

/** Holds, and the outcomes of waiting endpoints. */
class Scene {
  readonly holds = new Holds(7);
  readonly admitted: Endpoint[] = [];
  readonly left: Endpoint[] = [];

  wait(...endpoints: Endpoint[]): void {
    for (const endpoint of endpoints) {
      this.holds.wait({
        endpoint,
        admit: () => this.admitted.push(endpoint),
        cancel: () => this.left.push(endpoint),
      });
    }
  }

  /** Takes the holds of an address for its ports from 1 on. */
  fill(address: number, ports = 64): void {
    for (let port = 1; port <= ports; port++) assert(this.holds.take(at(address, port)));
  }

  get log() {
    const { admitted, left } = this;
    return { admitted, left };
  }
}

Deno.test("a proved endpoint gives its hold to the endpoint of its address that has waited longest", () => {
  const scene = new Scene();
  scene.fill(1);
  assert(!scene.holds.take(at(1, 65)));
  scene.wait(at(1, 90), at(1, 70), at(1, 80));
  assertEquals(scene.log, { admitted: [], left: [] });
  scene.holds.proved(at(1, 5));
  scene.holds.proved(at(1, 5));
  assertEquals(scene.log, { admitted: [at(1, 90)], left: [] });
  scene.holds.ended(at(1, 5));
  scene.holds.proved(at(1, 90));
  assertEquals(scene.log, { admitted: [at(1, 90), at(1, 70)], left: [] });
});

Deno.test("a disproved endpoint keeps its hold, and waiting endpoints are omitted after the last interview", () => {
  const scene = new Scene();
  scene.fill(1);
  scene.fill(2, 1);
  scene.wait(at(1, 66), at(1, 70), at(1, 80));
  scene.holds.proved(at(1, 1));
  for (let port = 2; port <= 64; port++) scene.holds.ended(at(1, port));
  assertEquals(scene.log, { admitted: [at(1, 66)], left: [] });
  scene.holds.ended(at(1, 66));
  assertEquals(scene.log, { admitted: [at(1, 66)], left: [at(1, 70), at(1, 80)] });
  scene.wait(at(1, 90)); // at once: no interview of its address is pending
  assertEquals(scene.left.at(-1), at(1, 90));
  assert(!scene.holds.take(at(1, 91)));
  const batch = Endpoints.of(at(1, 70), at(1, 91), at(2, 1));
  assertEquals([0, 1, 2].map((i) => scene.holds.isQueuedAt(batch, i)), [true, false, false]);
  assert(scene.holds.has(at(1, 70)) && scene.holds.has(at(1, 64)), "none is interviewed later");
});

Deno.test("when all holds are taken, a proof admits an endpoint of an address below its limit", () => {
  const scene = new Scene();
  for (let address = 0; address < 63; address++) scene.fill(address);
  scene.fill(63, 32);
  scene.fill(64, 32);
  scene.wait(at(0, 70), at(99, 1), at(63, 70), at(99, 2));
  scene.holds.proved(at(64, 1));
  assertEquals(scene.admitted, [at(99, 1)], "an address with 64 holds gets no more");
  scene.holds.proved(at(63, 1));
  assertEquals(scene.admitted, [at(99, 1), at(63, 70)], "its own address comes first");
  scene.holds.proved(at(99, 1));
  assertEquals(scene.log, { admitted: [at(99, 1), at(63, 70), at(99, 2)], left: [] });
});

Deno.test("a released hold goes to a waiting endpoint, and its endpoint may get another hold", () => {
  const scene = new Scene();
  scene.fill(1);
  scene.wait(at(1, 70));
  scene.holds.release(at(1, 1));
  scene.holds.ended(at(1, 1));
  assertEquals(scene.log, { admitted: [at(1, 70)], left: [] });
  assert(!scene.holds.has(at(1, 1)) && !scene.holds.take(at(1, 1)));
  scene.holds.release(at(1, 2));
  assert(scene.holds.take(at(1, 1)));
});

Deno.test("without a pending interview, no endpoint waits", () => {
  const scene = new Scene();
  for (let address = 0; address < 64; address++) scene.fill(address);
  scene.wait(at(99, 1), at(98, 1));
  for (let address = 0; address < 64; address++) {
    for (let port = 1; port <= 64; port++) {
      assertEquals(scene.left, []);
      scene.holds.ended(at(address, port));
    }
  }
  assertEquals(scene.log, { admitted: [], left: [at(99, 1), at(98, 1)] });
});

Deno.test("an endpoint that is proved while it waits leaves the queue without a hold", () => {
  const scene = new Scene();
  scene.fill(1);
  scene.wait(at(1, 70), at(1, 80));
  scene.holds.proved(at(1, 70));
  assertEquals(scene.log, { admitted: [], left: [at(1, 70)] });
  scene.holds.proved(at(1, 1));
  assertEquals(scene.log, { admitted: [at(1, 80)], left: [at(1, 70)] });
});

Deno.test("at most 32,768 endpoints wait, and nothing is stored of others", () => {
  const scene = new Scene();
  for (const address of [1, 2]) {
    scene.fill(address);
    for (let port = 1000; port < 1000 + 16_384; port++) scene.wait(at(address, port));
  }
  assertEquals(scene.left, []);
  scene.wait(at(2, 999));
  assertEquals([scene.left, scene.holds.has(at(2, 999))], [[at(2, 999)], false]);
  scene.holds.proved(at(2, 1)); // frees one place in the queue
  scene.wait(at(2, 999));
  assertEquals(scene.log, { admitted: [at(2, 1000)], left: [at(2, 999)] });
});

Deno.test("for any sequence of events, no endpoint waits without a pending interview, and a forger gets no further interviews", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed);
    const scene = new Scene();
    const pending: Endpoint[] = [];
    const held = new Map<number, number>();
    let [waited, admitted, proofs, interviews] = [0, 0, 0, 0];
    const begin = (endpoint: Endpoint) => {
      const { address } = endpoint as { address: number };
      held.set(address, (held.get(address) ?? 0) + 1);
      assert(held.get(address)! <= 64);
      pending.push(endpoint);
      interviews++;
    };
    const end = () => {
      const [endpoint] = pending.splice(random.below(pending.length), 1);
      const { address } = endpoint as { address: number };
      if (address % 2 === 0 && random.below(10) > 0) {
        held.set(address, held.get(address)! - 1);
        proofs++;
        scene.holds.proved(endpoint);
      }
      scene.holds.ended(endpoint);
      admitted += scene.admitted.length;
      scene.admitted.splice(0).forEach(begin);
    };
    for (let i = 0; i < 9000; i++) {
      const endpoint = at(random.below(100), random.below(200));
      if (scene.holds.has(endpoint)) continue;
      if (scene.holds.take(endpoint)) begin(endpoint);
      else {
        waited++;
        scene.wait(endpoint);
      }
      if (pending.length > 0 && random.below(3) === 0) end();
    }
    const begun = interviews;
    while (pending.length > 0) end();
    assert(interviews <= 4096 + proofs);
    assert(waited > 100 && interviews > begun, "some waited to the end");
    const unproved = [...held.values()].reduce((sum, one) => sum + one, 0);
    assertEquals(unproved, interviews - proofs);
    assert(admitted > 0 && scene.left.length > 0);
    assertEquals(admitted + scene.left.length, waited);
  }
});
