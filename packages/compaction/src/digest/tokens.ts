import { byScript } from "@bonsai-agent/messages";

/** The estimate may err by so much on texts made of paths and values; the budget is a promise. */
const SAFETY = 1.05;

/** Tokens of a text, counted by script and rather too high than too low. */
export function digestTokens(text: string): number {
  return Math.ceil(byScript(text) * SAFETY);
}
