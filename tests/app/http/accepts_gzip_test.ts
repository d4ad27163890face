import { assert } from "@std/assert";
import { acceptsGzip } from "../../../src/app/http/accepts_gzip.ts";

Deno.test("gzip is used only for clients that accept it", () => {
  for (const header of ["gzip", "deflate, GZIP;q=0.5", "x-gzip", "br, *", "gzip ; q=1.0"]) {
    assert(acceptsGzip(header), header);
  }
  for (const header of [undefined, "", "br", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "gzip;q=x"]) {
    assert(!acceptsGzip(header), header);
  }
});
