import type { AgentNotice } from "@bonsai-agent/agent";
import { describeNotice, type LifecycleNotice } from "@bonsai-agent/lifecycle";
import { BonsaiError, shortened } from "@bonsai-agent/messages";
import type { ZodType } from "zod";
import { tidyError, withoutMarkers } from "../load/generation.ts";
import { codeFrame, placeText, placeThrown, readableError } from "../load/thrown-error.ts";
import { type ExtensionScope, extensionAtWork } from "./extension-scope.ts";

/** The reason why an extension was not loaded, with the place of the error. */
export function extensionFailure({ source }: ExtensionScope, error: unknown): BonsaiError {
  const isOurs = BonsaiError.is(error);
  const place = placeThrown(error);
  // Errors of the loader name their place.
  if (isOurs && place === undefined) return error;
  const where = place === undefined ? source : placeText(place);
  const message = `${where}: ${messageOf(error)}${place === undefined ? "" : codeFrame(place)}${causesOf(error)}`;
  tidyError(error);
  if (isOurs) return new BonsaiError({ code: error.code, message, hint: error.hint, cause: error });
  return new BonsaiError({
    /** The function of an extension threw at its start. The message shows file and line. */
    code: "extension_failed",
    message,
    hint: "Fix the extension. Then run /reload or restart bonsai.",
    cause: error,
  });
}

export function failureNotice(source: string, { message, hint }: BonsaiError): AgentNotice {
  const text = `Could not load the extension ${source}. ${message}\n${hint}`;
  return { level: "warning", code: "extension_failed", message: text };
}

/** The notice about a failed registration. The rest of the extension works. */
export function refusalNotice(scope: ExtensionScope, error: unknown): AgentNotice {
  const { message, hint } = extensionFailure(scope, error);
  return {
    level: "warning",
    code: "extension_registration_refused",
    message: `Skipped a registration of ${scope.source}; the rest of the extension works. ${message}\n${hint}`,
  };
}

export function commandFailure(
  { name, scope }: { name: string; scope: ExtensionScope },
  error: unknown,
): BonsaiError {
  const message = failureText(`/${name} of ${scope.source}`, error);
  tidyError(error);
  return new BonsaiError({
    /** A command of an extension threw. The message names its place. */
    code: "extension_command_failed",
    message,
    hint: BonsaiError.is(error) ? error.hint : "This is a bug in the extension. Report it to its author.",
    cause: error,
  });
}

/** The user's notice for one of the lifecycle; for an error in a handler, with its place. */
export function lifecycleNotice(notice: LifecycleNotice): AgentNotice {
  const message =
    notice.type === "handler_error"
      ? `${notice.source} failed in ${notice.event}: ${reasonOf(notice.error)}`
      : describeNotice(notice);
  return { level: "warning", code: notice.type, message };
}

/**
 * The notice about an uncaught error in a timer or promise of an extension. Call it in a listener of the process.
 * Undefined if no extension is involved.
 */
export function uncaughtErrorNotice(error: unknown): AgentNotice | undefined {
  const source = extensionAtWork()?.source ?? placeThrown(error)?.path;
  if (source === undefined) return undefined;
  return {
    level: "warning",
    /** A timer, event or promise of an extension threw. The work continues. */
    code: "extension_stray_error",
    message: failureText(`A timer, event or promise of ${source}`, error),
  };
}

/** The text for a failure that stops nothing: what failed, why and where. */
export function failureText(what: string, error: unknown): string {
  return `${what} failed: ${reasonOf(error)}`;
}

function reasonOf(thrown: unknown): string {
  const error = readableError(thrown);
  const place = placeThrown(error);
  return `${messageOf(error)}${place === undefined ? "" : ` (${placeText(place)})`}${causesOf(error)}`;
}

const REJECTED = 'The promise rejected with the reason "';

function messageOf(error: unknown): string {
  const { message, name } = readableError(error);
  // Node's text for a rejection with a value that is no error.
  const at = message.indexOf(REJECTED);
  const reason = at >= 0 && message.endsWith('".') ? message.slice(at + REJECTED.length, -2) : undefined;
  return withoutMarkers(reason || message || name);
}

const MAX_CAUSES = 4;

/** A line for each cause that is not in the message. */
function causesOf(error: unknown): string {
  const lines: string[] = [];
  let named = messageOf(error);
  let { cause } = readableError(error);
  for (let count = 0; cause !== undefined && cause !== null && count < MAX_CAUSES; count += 1) {
    const message = messageOf(cause);
    if (!named.includes(message)) lines.push(`\nCause: ${message}`);
    named += message;
    ({ cause } = readableError(cause));
  }
  return lines.join("");
}

/** A call with a wrong argument. JavaScript authors have no types. */
export function badArgument(
  { source }: ExtensionScope,
  call: string,
  wanted: string,
  received: unknown,
): BonsaiError {
  return new BonsaiError({
    code: "extension_argument_invalid",
    message: `${source} called ${call} with ${shown(received)}, but it expects ${wanted}.`,
    hint: "Fix the call. The types of @bonsai-agent/extension show the expected arguments.",
  });
}

/** @throws BonsaiError for the first invalid option. The messages of the schema name the wanted values. */
export function checkOptions(scope: ExtensionScope, call: string, given: unknown, schema: ZodType): void {
  const [issue] = schema.safeParse(given).error?.issues ?? [];
  if (issue === undefined) return;
  const field = String(issue.path[0] ?? "");
  if (field === "") throw badArgument(scope, call, "an object with options", given);
  const value = (given as Record<string, unknown>)[field];
  throw badArgument(scope, call, `${issue.message} as ${field}`, value);
}

function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  return shortened(textOf(value), 80);
}

/** Circular values, and values with getters that throw, are shown by their type. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return `a ${typeof value} that cannot be shown`;
  }
}

/** A handler or tool must not wait for its own end. */
export function deadlockError(call: "reload" | "waitForIdle"): BonsaiError {
  return new BonsaiError({
    code: "extension_waits_for_itself",
    message: `A handler or tool called ${call}, which waits for that handler or tool to end. Both would wait forever.`,
    hint: "Call it in a command, or in a timer that fires after the handler or tool has ended.",
  });
}
