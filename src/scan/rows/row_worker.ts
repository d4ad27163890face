/**
 * The worker of {@linkcode RowThread}. Its first message contains its parameters, the second the
 * signatures of earlier rows; each further one the sources of rows, to which it replies with the rows.
 *
 * @module
 */
import { PROTOCOLS } from "../../protocols/list.ts";
import { formatOf } from "../../sinks/text_formats.ts";
import { Aliases, type AliasState } from "./aliases.ts";
import { type PackedRows, unpackRows } from "./packed_rows.ts";
import { rowsMaker } from "./made_rows.ts";
import { RowMaker } from "./row_maker.ts";
import type { RowWorkerOptions, RowWorkerReply } from "./row_thread.ts";

/** The message functions of a worker's global scope. */
interface WorkerScope {
  onmessage: (event: MessageEvent) => void;
  addEventListener(type: "error", listener: (event: ErrorEvent) => void): void;
  postMessage(data: RowWorkerReply, transfer?: readonly ArrayBuffer[]): void;
}

const scope = globalThis as unknown as WorkerScope;

scope.addEventListener("error", (event) => {
  event.preventDefault(); // the runtime would print the error
  scope.postMessage({ error: event.message });
});

scope.onmessage = ({ data }: MessageEvent<RowWorkerOptions>) => {
  const { formats, key, ...options } = data;
  const aliases = new Aliases(key, PROTOCOLS);
  const maker = new RowMaker({ ...options, allProtocols: PROTOCOLS }, aliases);
  const makeRows = rowsMaker(maker, formats.map((spec) => formatOf(spec, PROTOCOLS)));
  scope.onmessage = ({ data }: MessageEvent<AliasState>) => {
    aliases.state = data;
    scope.onmessage = ({ data }: MessageEvent<PackedRows>) => {
      const made = makeRows(unpackRows(data, PROTOCOLS));
      scope.postMessage(made, made.texts.map(({ buffer }) => buffer));
    };
  };
  scope.postMessage("ready");
};
