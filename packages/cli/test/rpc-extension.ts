import { type AgentProject, agentProject, says } from "./agent-project.ts";
import { RpcSession } from "./rpc-session.ts";

/** An extension whose command `/do` does this; `told` gives what came of it to the client. */
export function does(statement: string, more = "", scenario = says("the answer")): AgentProject {
  return agentProject(scenario, {
    "own.ts": `export default (bonsai) => {
      ${more}
      bonsai.registerCommand("do", {
        description: "does it",
        handler: async (args, ctx) => {
          const told = (value) => ctx.ui.notify("told " + JSON.stringify(value ?? null));
          ${statement}
        },
      });
    };`,
  });
}

export function rpcWith(project: AgentProject, argv: readonly string[] = []): RpcSession {
  return new RpcSession(project, ["-e", "own.ts", ...argv]);
}

export const told = async (rpc: RpcSession, from = 0): Promise<unknown> => {
  const line = await rpc.wait(
    ({ method, message }) => method === "notify" && String(message).startsWith("told "),
    from,
  );
  return JSON.parse((line.message as string).slice("told ".length));
};
