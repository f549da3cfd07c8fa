import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { NewFile } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";

/**
 * The absolute path that `-o` names; undefined without the flag.
 * @throws BonsaiError `output_exists`: nothing is ever overwritten, for it could be a session.
 */
export function outputFile({ options, io }: Invocation): string | undefined {
  if (typeof options.output !== "string") return undefined;
  const file = resolve(io.cwd, options.output);
  if (existsSync(file)) throw outputExists(file);
  return file;
}

export function outputExists(file: string): BonsaiError {
  return new BonsaiError({
    code: "output_exists",
    message: `${file} exists already, and is not overwritten.`,
    hint: "Name another file, or move this one away first.",
  });
}

/** Writes a new file, whole or not at all. @throws BonsaiError `output_exists` */
export function writeOutput(path: string, text: string): void {
  if (existsSync(path)) throw outputExists(path);
  const file = new NewFile(path, outputExists);
  try {
    writeFileSync(file.temporaryPath, text, { flag: "wx", mode: 0o600 });
    file.publish();
  } finally {
    file.discard();
  }
}
