import { BonsaiError } from "@bonsai-agent/messages";
import { jsonDepthProblem } from "@bonsai-agent/messages/host";
import { textFile } from "@bonsai-agent/models/host";

/** Reads a JSON file that users edit; undefined without one. @throws BonsaiError `settings_unreadable` */
export function readJsonFile(file: string): unknown {
  const text = textFile(file);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unreadable(`${file} is not valid JSON: ${(cause as Error).message}.`, cause);
  }
  // A deeper value can be neither shown nor written back.
  const problem = jsonDepthProblem(value);
  if (problem !== undefined) throw unreadable(`${file} is ${problem}.`);
  return value;
}

function unreadable(message: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    /** The settings or the trust file are not valid JSON. */
    code: "settings_unreadable",
    message,
    hint: "Fix the file, or move it away to continue without it.",
    cause,
  });
}
