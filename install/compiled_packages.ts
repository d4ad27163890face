/**
 * The packages that the program loads when it needs them, so that `deno compile` includes them. The
 * program names them in constants, which `deno compile` does not read.
 */
import "npm:@nats-io/jetstream@3.4.0";
import "npm:@nats-io/kv@3.4.0";
import "npm:@nats-io/obj@3.4.0";
import "npm:@nats-io/transport-node@3.4.0";
import "npm:mmdb-lib@3.0.3";
import "npm:pg@8.23.1";
