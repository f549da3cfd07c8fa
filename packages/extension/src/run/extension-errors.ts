import type { AgentNotice } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import { codeFrame, placeText, placeThrown } from "../load/source-place.ts";
import type { ExtensionScope } from "./scope.ts";

/** Why an extension was not loaded, with the place where it threw. */
export function extensionFailure({ source }: ExtensionScope, error: unknown): BonsaiError {
  const isOurs = BonsaiError.is(error);
  const place = placeThrown(error);
  // What was thrown while the module was read says its place itself.
  if (isOurs && place === undefined) return error;
  const where = place === undefined ? source : placeText(place);
  const message = `${where}: ${messageOf(error)}${place === undefined ? "" : codeFrame(place)}`;
  if (isOurs) return new BonsaiError({ code: error.code, message, hint: error.hint, cause: error });
  return new BonsaiError({
    code: "extension_failed",
    message,
    hint: "Mend the extension and reload.",
    cause: error,
  });
}

/** What users are told of an extension that was not loaded. */
export function failureNotice(source: string, { message, hint }: BonsaiError): AgentNotice {
  const text = `The extension ${source} was not loaded. ${message}\n${hint}`;
  return { level: "warning", code: "extension_failed", message: text };
}

/** What a command's handler threw. */
export function commandFailure(
  { name, source }: { name: string; source: string },
  error: unknown,
): BonsaiError {
  return new BonsaiError({
    code: "extension_command_failed",
    message: failureText(`/${name} of ${source}`, error),
    hint: BonsaiError.is(error) ? error.hint : "This is a fault of the extension: tell its author.",
    cause: error,
  });
}

/** What failed, why and where: for a failure of an extension that stops nothing. */
export function failureText(what: string, error: unknown): string {
  const place = placeThrown(error);
  return `${what} failed: ${messageOf(error)}${place === undefined ? "" : ` (${placeText(place)})`}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
