import type { AgentNotice } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ExtensionScope } from "./scope.ts";

/** Why an extension was not loaded. */
export function extensionFailure({ source }: ExtensionScope, error: unknown): BonsaiError {
  if (BonsaiError.is(error)) return error;
  return new BonsaiError({
    code: "extension_failed",
    message: `${source} failed while it started: ${messageOf(error)}`,
    hint: "Mend the extension and reload.",
    cause: error,
  });
}

export function failureNotice({ source }: ExtensionScope, { message, hint }: BonsaiError): AgentNotice {
  return { level: "warning", code: "extension_failed", message: `Not loaded: ${source}. ${message} ${hint}` };
}

/** What a command's handler threw. */
export function extensionCommandError(
  { name, source }: { name: string; source: string },
  error: unknown,
): BonsaiError {
  return new BonsaiError({
    code: "extension_command_failed",
    message: `/${name} of ${source} failed: ${messageOf(error)}`,
    hint: "This is a fault of the extension: report it to its author.",
    cause: error,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
