import { bonsaiHome } from "@bonsai-agent/session";
import type { AgentCall } from "../../invocation.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { slashCommands } from "../slash/slash-commands.ts";
import { PromptCompletion } from "./prompt-completion.ts";
import type { PromptEditor } from "./prompt-editor.ts";
import { PromptHistory } from "./prompt-history.ts";

export interface AttachPromptOptions {
  call: AgentCall;
  editor: PromptEditor;
  tell: InteractiveWork["tell"];
}

/**
 * Gives the editor its completion and the prompts of earlier sessions, before there is a session.
 * @returns to be called with the session: what only it knows is completed from then on
 */
export function attachPrompt({ call, editor, tell }: AttachPromptOptions): (work: InteractiveWork) => void {
  const { cwd, env } = call.io;
  const onFault = (message: string) => tell({ level: "warning", message });
  editor.useHistory(new PromptHistory({ home: bonsaiHome({ ...env }), onFault }));
  const completion = new PromptCompletion({ cwd, commands: slashCommands, tell });
  editor.setAutocompleteProvider(completion);
  return (work) => completion.begin(work);
}
