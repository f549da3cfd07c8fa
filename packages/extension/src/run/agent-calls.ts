import type { Agent, RunResult } from "@bonsai-agent/agent";
import { BonsaiError, contentText } from "@bonsai-agent/messages";
import { userContentSchema } from "@bonsai-agent/messages/schemas";
import { thinkingLevels } from "@bonsai-agent/models";
import { z } from "zod";
import type { ExtensionAPI } from "../api/extension-api.ts";
import { badArgument } from "./bad-argument.ts";
import { failureText } from "./extension-errors.ts";
import type { ExtensionPlace } from "./room.ts";

type AgentCalls = Pick<
  ExtensionAPI,
  "sendMessage" | "sendUserMessage" | "setModel" | "getThinkingLevel" | "setThinkingLevel"
>;

/**
 * The agent that is at work, for a call of an extension.
 * @throws BonsaiError `extension_unloaded`, `extension_not_started`, `extension_needs_agent`
 */
export function agentFor({ scope, host }: ExtensionPlace, call: string): Agent {
  scope.checkStarted(call);
  const agent = host.agent();
  if (agent !== undefined) return agent;
  throw new BonsaiError({
    code: "extension_needs_agent",
    message: `${scope.source} called ${call} where no agent is at work.`,
    hint: "Session commands such as bonsai compact open a session without an agent: let the extension catch this error there, or run it in bonsai itself.",
  });
}

/** What an extension does with the agent that is at work. */
export function agentCalls(place: ExtensionPlace): AgentCalls {
  const { scope, host } = place;
  /** Nobody waits for what such a call does; what goes wrong with it is a notice. */
  const begun = async (call: string, doing: Promise<RunResult | undefined | void>) => {
    try {
      const result = await doing;
      if (result?.status === "failed") throw result.error;
    } catch (error) {
      const message = failureText(`${call} of ${scope.source}`, error);
      host.onNotice({ level: "warning", code: "extension_call_failed", message });
    }
  };
  return {
    sendMessage(message, options) {
      void begun("sendMessage", agentFor(place, "sendMessage").sendMessage(message, options));
    },
    sendUserMessage(content, { deliverAs = "steer" } = {}) {
      const agent = agentFor(place, "sendUserMessage");
      if (typeof content !== "string" && !isUserContent(content))
        throw badArgument(scope, "sendUserMessage", "a text, or a list of texts and images", content);
      const images = typeof content === "string" ? [] : content.filter((part) => part.type === "image");
      const prompted = agent.prompt(contentText(content), {
        source: "extension",
        behavior: deliverAs,
        ...(images.length === 0 ? {} : { images }),
      });
      void begun("sendUserMessage", prompted);
    },
    async setModel(model) {
      const agent = agentFor(place, "setModel");
      if (!isModel(model)) throw badArgument(scope, "setModel", "a model of ctx.modelRegistry", model);
      if (!place.context().modelRegistry.hasConfiguredAuth(model)) return false;
      await agent.setModel(model);
      return true;
    },
    getThinkingLevel: () => agentFor(place, "getThinkingLevel").state.thinking,
    setThinkingLevel(level) {
      const agent = agentFor(place, "setThinkingLevel");
      if (!thinkingLevels.includes(level))
        throw badArgument(scope, "setThinkingLevel", `one of ${thinkingLevels.join(", ")}`, level);
      void begun("setThinkingLevel", agent.setThinking(level));
    },
  };
}

function isUserContent(content: unknown): boolean {
  return z.array(userContentSchema).safeParse(content).success;
}

const modelSchema = z.looseObject({
  provider: z.string(),
  id: z.string(),
  api: z.string(),
  baseUrl: z.string(),
  input: z.array(z.string()),
});

/** What `find` gives where it finds nothing is none. */
function isModel(model: unknown): boolean {
  return modelSchema.safeParse(model).success;
}
