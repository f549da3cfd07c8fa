import type { ToolDeclaration } from "@bonsai-agent/models";

/** What stands before the messages of every request, in the texts that count. */
export interface FixedContext {
  /** The system prompt without the instructions. */
  readonly prompt: string;
  /** The files of instructions in it, each in its frame. */
  readonly instructions: readonly string[];
  /** The tools that the model is offered, as JSON. */
  readonly tools: readonly string[];
}

/** Divides a system prompt, and takes the tools to it. */
export function fixedContext({
  systemPrompt,
  tools,
}: {
  systemPrompt: string;
  tools: readonly ToolDeclaration[];
}): FixedContext {
  const { prompt, instructions } = divided(systemPrompt);
  return {
    prompt: prompt.trim(),
    instructions,
    tools: tools.map((tool) => JSON.stringify(tool)),
  };
}

const OPEN = '<instructions path="';
const CLOSE = "\n</instructions>";

/** As the prompt frames each file of instructions, on lines of its own; a file cannot end its own frame. */
function divided(systemPrompt: string): { prompt: string; instructions: string[] } {
  const instructions: string[] = [];
  let prompt = "";
  let from = 0;
  for (let open = systemPrompt.indexOf(OPEN); open >= 0; ) {
    const lineEnd = systemPrompt.indexOf("\n", open);
    const close = lineEnd < 0 ? -1 : systemPrompt.indexOf(CLOSE, lineEnd + 1);
    if (close < 0) break;
    if (systemPrompt.startsWith('">', lineEnd - 2)) {
      prompt += systemPrompt.slice(from, open);
      from = close + CLOSE.length;
      instructions.push(systemPrompt.slice(open, from));
    }
    open = systemPrompt.indexOf(OPEN, Math.max(from, lineEnd));
  }
  return { prompt: prompt + systemPrompt.slice(from), instructions };
}

/** The same as one list, which is another one only once something of it has changed. */
export function fixedTexts(
  current: () => { systemPrompt: string; tools: readonly ToolDeclaration[] },
): () => readonly string[] {
  let known:
    | { systemPrompt: string; tools: readonly ToolDeclaration[]; texts: readonly string[] }
    | undefined;
  return () => {
    const { systemPrompt, tools } = current();
    const isKnown =
      known?.systemPrompt === systemPrompt &&
      known.tools.length === tools.length &&
      known.tools.every((tool, at) => tool === tools[at]);
    if (known === undefined || !isKnown) {
      const { prompt, instructions, tools: declared } = fixedContext({ systemPrompt, tools });
      known = { systemPrompt, tools, texts: [prompt, ...instructions, ...declared] };
    }
    return known.texts;
  };
}
