/** Every decoder and reader that the fuzzer tests. */
import type { Subject } from "../subject.ts";
import { BINARY_SUBJECTS } from "./binary.ts";
import { DECODER_SUBJECTS } from "./decoders.ts";
import { EXCHANGE_SUBJECTS } from "./exchanges.ts";
import { FILE_SUBJECTS } from "./files.ts";
import { NETWORKED_SUBJECTS } from "./networked.ts";
import { TEXT_SUBJECTS } from "./texts.ts";

export const SUBJECTS: readonly Subject[] = [
  ...DECODER_SUBJECTS,
  ...EXCHANGE_SUBJECTS,
  ...TEXT_SUBJECTS,
  ...FILE_SUBJECTS,
  ...NETWORKED_SUBJECTS,
  ...BINARY_SUBJECTS,
];
