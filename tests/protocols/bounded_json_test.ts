import { assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { firstMembers, parseBoundedJson } from "../../src/protocols/bounded_json.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

Deno.test("the first value of a key that occurs twice is found, whatever stands between", () => {
  const members = (json: string) => firstMembers(parseBoundedJson(utf8(json)).json);
  assertEquals(members('{"a":1,"b":2}'), undefined);
  assertEquals(members("{ }"), undefined);
  assertEquals(members('{"b":{"a":1,"a":2},"c":[{"d":1},{"d":1}]}'), undefined);
  assertEquals(
    [...members('{ "a" : "x\\",}" , "b":{"a":[1,{"c":2}]}, "\\u0061":3,"b":4}')!],
    [["a", 'x",}'], ["b", { a: [1, { c: 2 }] }]],
  );
  assertEquals([...members('{"__proto__":1,"__proto__":2}')!], [["__proto__", 1]]);
});

Deno.test("an object whose keys differ has no duplicates, and its copies have the first values", () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (object) => {
    const json = JSON.stringify(object);
    assertEquals(firstMembers(json), undefined);
    const twice = `${json.slice(0, -1)},${
      JSON.stringify({ ...object, [Object.keys(object)[0]]: 0 }).slice(1)
    }`;
    const first = Object.entries(JSON.parse(json));
    assertEquals([...firstMembers(twice)!], first);
  }));
});
