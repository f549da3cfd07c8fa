import { BonsaiError } from "@bonsai-agent/messages";
import type { ExtensionScope } from "./scope.ts";

/** A call of the API with something that it cannot be given; types alone do not keep JavaScript from it. */
export function badArgument(
  { source }: ExtensionScope,
  call: string,
  wanted: string,
  received: unknown,
): BonsaiError {
  return new BonsaiError({
    code: "extension_argument_invalid",
    message: `${source} called ${call} with ${shown(received)} where it takes ${wanted}.`,
    hint: "Mend the call; the types of @bonsai-agent/extension tell what each takes.",
  });
}

function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  const text = textOf(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** What goes round in circles, or has a getter that throws, is shown by its type. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return `a ${typeof value} that cannot be written down`;
  }
}
