import type { Agent } from "@bonsai-agent/agent";
import { BonsaiError, contentText, type ImageContent } from "@bonsai-agent/messages";
import type { ExtensionAPI } from "../api/extension-api.ts";
import type { ExtensionPlace } from "./room.ts";

type AgentCalls = Pick<
  ExtensionAPI,
  | "sendMessage"
  | "sendUserMessage"
  | "getActiveTools"
  | "getAllTools"
  | "setActiveTools"
  | "setModel"
  | "getThinkingLevel"
  | "setThinkingLevel"
>;

/** What an extension does with the agent that is at work. */
export function agentCalls({ room, scope, host }: ExtensionPlace): AgentCalls {
  const agent = (call: string): Agent => {
    scope.checkStarted(call);
    const working = host.agent();
    if (working !== undefined) return working;
    throw new BonsaiError({
      code: "extension_needs_agent",
      message: `${scope.source} called ${call} where no agent is at work.`,
      hint: "Session commands such as bonsai compact open a session without an agent: let the extension do without, or run it in bonsai itself.",
    });
  };
  const told = (doing: Promise<unknown>) => {
    doing.catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      host.onNotice({
        level: "warning",
        code: "extension_call_failed",
        message: `${scope.source}: ${message}`,
      });
    });
  };
  return {
    sendMessage() {
      agent("sendMessage");
      throw new Error("Not built yet.");
    },
    sendUserMessage(content, { deliverAs = "steer" } = {}) {
      const text = typeof content === "string" ? content : contentText(content);
      const images = typeof content === "string" ? [] : content.filter((part) => part.type === "image");
      told(
        agent("sendUserMessage").prompt(text, {
          source: "extension",
          behavior: deliverAs,
          ...(images.length === 0 ? {} : { images: images as ImageContent[] }),
        }),
      );
    },
    getActiveTools: () => [...agent("getActiveTools").tools.active],
    getAllTools() {
      const { tools } = agent("getAllTools");
      return tools.names.map((name) => {
        const { description, parameters } = tools.get(name) ?? { description: "", parameters: {} };
        const own = room.tools.get(name);
        return { name, description, parameters, ...(own === undefined ? {} : { extensionPath: own.path }) };
      });
    },
    setActiveTools(names) {
      agent("setActiveTools").tools.setActive([...names]);
    },
    async setModel(model) {
      const { keys, catalogue } = await host.models();
      const working = agent("setModel");
      const provider = catalogue.providers.find((each) => each.provider === model.provider);
      if (provider?.apiKeyEnv !== undefined && keys.key(provider) === undefined) return false;
      await working.setModel(model);
      return true;
    },
    getThinkingLevel: () => agent("getThinkingLevel").state.thinking,
    setThinkingLevel(level) {
      told(agent("setThinkingLevel").setThinking(level));
    },
  };
}
