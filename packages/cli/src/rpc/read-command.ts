import { BonsaiError, isTooDeep, jsonText, MAX_LEVELS } from "@bonsai-agent/messages";
import { z } from "zod";
import { nearestWord } from "../nearest-word.ts";
import type { LineIn } from "./json-lines-in.ts";
import { type RpcCommandName, type RpcId, type RpcParams, rpcCommands } from "./protocol.ts";
import { type UiResponse, uiResponse } from "./ui-protocol.ts";

/** A command as it came, checked. */
export type ReadCommand = {
  [Name in RpcCommandName]: { id: RpcId | undefined; name: Name; params: RpcParams<Name> };
}[RpcCommandName];

/** A line that is no command: what can be said of it. */
export interface UnreadableCommand {
  id: RpcId | undefined;
  command: string | null;
  error: BonsaiError;
}

/** Reads one line. Never throws. */
export function readLine(line: LineIn): ReadCommand | UnreadableCommand | { answer: UiResponse } {
  if ("tooLong" in line) return { id: undefined, command: null, error: tooLong(line.tooLong) };
  const value = parsed(line.text);
  if (BonsaiError.is(value)) return { id: undefined, command: null, error: value };
  if (value.type === "extension_ui_response") return readAnswer(value);
  const { id: anyId, type, ...fields } = value;
  const id = typeof anyId === "string" || typeof anyId === "number" ? anyId : undefined;
  const command = typeof type === "string" ? type : null;
  if (anyId !== undefined && id === undefined)
    return { id, command, error: invalid(`id is ${jsonText(anyId)}; allowed is a text or a number`) };
  if (isTooDeep(value))
    return { id, command, error: invalid(`it is nested deeper than ${MAX_LEVELS} levels`) };
  if (command === null || !isCommandName(command)) return { id, command, error: unknownCommand(type) };
  const checked = z.strictObject(rpcCommands[command]).safeParse(fields);
  if (!checked.success) return { id, command, error: invalid(`${command}: ${problems(checked.error)}`) };
  return { id, name: command, params: checked.data } as ReadCommand;
}

function readAnswer(value: Record<string, unknown>): { answer: UiResponse } | UnreadableCommand {
  const command = "extension_ui_response";
  const checked = uiResponse.safeParse(value);
  if (checked.success) return { answer: checked.data };
  const id = typeof value.id === "string" ? value.id : undefined;
  return { id, command, error: invalid(`${command}: ${problems(checked.error)}`) };
}

function isCommandName(name: string): name is RpcCommandName {
  return Object.hasOwn(rpcCommands, name);
}

function parsed(text: string): Record<string, unknown> | BonsaiError {
  try {
    // Some shells begin what they pipe with a byte-order mark.
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    return notJson(`it is ${Array.isArray(value) ? "a list" : JSON.stringify(value)}`);
  } catch (error) {
    return notJson((error as Error).message);
  }
}

function problems(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`))
    .join("; ");
}

function notJson(problem: string): BonsaiError {
  return new BonsaiError({
    code: "rpc_line_unreadable",
    message: `The line is no JSON object: ${problem}.`,
    hint: 'Send one JSON object a line, like {"id":1,"type":"get_state"}.',
  });
}

function tooLong(bytes: number): BonsaiError {
  return new BonsaiError({
    code: "rpc_line_unreadable",
    message: `The line has ${bytes.toLocaleString("en")} bytes; that is too long, and it was skipped.`,
    hint: "Send less in one line: smaller images, or the path of a file.",
  });
}

function unknownCommand(type: unknown): BonsaiError {
  const names = Object.keys(rpcCommands);
  const meant = typeof type === "string" ? nearestWord(type, names) : undefined;
  return new BonsaiError({
    code: "rpc_command_unknown",
    message: `There is no command ${jsonText(type) || "without a type"}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`,
    hint: `The commands are: ${names.join(", ")}.`,
  });
}

function invalid(problem: string): BonsaiError {
  return new BonsaiError({
    code: "rpc_command_invalid",
    message: `The command cannot be read: ${problem}.`,
    hint: "Correct the field; RPC.md lists the fields of each command.",
  });
}
