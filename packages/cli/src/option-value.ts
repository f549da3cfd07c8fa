import { InvalidArgumentError } from "commander";
import type { OptionGrammar } from "./extensions/extension-flags.ts";

/** How the value of a flag is read from the command line. */
export const optionValues: Readonly<
  Record<NonNullable<OptionGrammar["kind"]> | "text", (value: string, before: unknown) => unknown>
> = {
  tokens,
  count,
  text: notBlank,
  "text or nothing": (value) => value,
  list: (value, before) => [...((before ?? []) as readonly string[]), notBlank(value)],
};

export function notEmpty(value: string): string {
  if (value === "") throw new InvalidArgumentError("It must not be empty.");
  return value;
}

function notBlank(value: string): string {
  notEmpty(value.trim());
  return value;
}

const factors = new Map([
  ["", 1],
  ["k", 1000],
  ["m", 1_000_000],
]);

function tokens(value: string): number {
  const match = /^(\d+)([km]?)$/i.exec(value.replaceAll(/[_,]/g, ""));
  if (match === null)
    throw new InvalidArgumentError("It must be a whole number of tokens, like 20000 or 20k.");
  const number = Number(match[1]) * factors.get(match[2]!.toLowerCase())!;
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError("No context is as large as that.");
  return number;
}

function count(value: string): number {
  const number = /^\d+$/.test(value) ? Number(value) : 0;
  if (number < 1) throw new InvalidArgumentError("It must be a whole number from 1 on, like 20.");
  return number;
}
