import type { ProjectInstruction } from "./project-instructions.ts";
import type { Tool } from "./tool.ts";

export interface SystemPromptOptions {
  cwd: string;
  tools: readonly Tool[];
  instructions: readonly ProjectInstruction[];
  /** The day, without the hour: the prompt is the start of what the provider caches. */
  date: string;
  platform: string;
}

/** What stands before every request. */
export function systemPrompt(options: SystemPromptOptions): string {
  return `You are Bonsai, a coding agent. Working folder: ${options.cwd}`;
}
