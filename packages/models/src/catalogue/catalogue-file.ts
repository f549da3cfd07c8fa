import { join } from "node:path";
import { BonsaiError, isTooDeep, MAX_LEVELS } from "@bonsai-agent/messages";
import { jsonProblem } from "../json-problem.ts";
import { textFile } from "../text-file.ts";
import { catalogueSchema, type ProviderOverride } from "./catalogue-schema.ts";

/**
 * What `<home>/models.json` says; nothing when there is no such file.
 * @throws BonsaiError `models_unreadable`, `models_invalid`
 */
export function catalogueOverrides(home: string): { file: string; providers: ProviderOverride[] } {
  const file = join(home, "models.json");
  const text = read(file);
  return { file, providers: text === undefined ? [] : validated(parsed(text, file), file) };
}

function read(file: string): string | undefined {
  try {
    return textFile(file);
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

function parsed(text: string, file: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unreadable(file, cause);
  }
  if (isTooDeep(value))
    throw unreadable(file, new SyntaxError(`it is nested deeper than ${MAX_LEVELS} levels`));
  return value;
}

/** The parser quotes what stands around its place, which may be a key of `headers`: that is neither told nor kept. */
function unreadable(file: string, cause: unknown): BonsaiError {
  const reason = (cause as Error).message.replace(/, (?:"|\.\.\.).*(?= is not valid JSON$)/s, "");
  return new BonsaiError({
    code: "models_unreadable",
    message: `${file} cannot be read as JSON: ${reason}.`,
    hint: "Mend the file, or move it away to work with the built-in models.",
    ...(!(cause instanceof SyntaxError) && { cause }),
  });
}

function validated(input: unknown, file: string): ProviderOverride[] {
  const parsed = catalogueSchema.safeParse(input);
  if (parsed.success) return parsed.data.providers;
  throw new BonsaiError({
    code: "models_invalid",
    message: jsonProblem({ error: parsed.error, input, schema: catalogueSchema, file }),
    hint: 'The shape is {"providers": [{"provider": "box", "baseUrl": "http://127.0.0.1:8000/v1", "models": [{"id": "coder", "contextWindow": 32768}]}]}.',
    cause: parsed.error,
  });
}
