/** The service: Google Cloud, or the Gemini API. */
export type Service = "vertex" | "gemini";

type Env = Readonly<Record<string, string | undefined>>;

/** Project and location, from the variables that Google documents for its SDK. */
export interface VertexSettings {
  project: string;
  /** Default `global`: Google chooses the region. */
  location: string;
}

/** @returns undefined without a project */
export function vertexSettings(env: Env): VertexSettings | undefined {
  const project = env.GOOGLE_CLOUD_PROJECT?.trim() ?? "";
  return project === "" ? undefined : { project, location: env.GOOGLE_CLOUD_LOCATION?.trim() || "global" };
}

/** The missing setting, with the remedy. The SDK checks the credentials at the first request. */
export function missingForVertex(env: Env): string | undefined {
  return vertexSettings(env) === undefined
    ? `Vertex AI has no project. Set GOOGLE_CLOUD_PROJECT and ${SIGN_IN}.`
    : undefined;
}

/** The remedy for missing application-default credentials. */
export const SIGN_IN =
  "sign in with `gcloud auth application-default login` or set GOOGLE_APPLICATION_CREDENTIALS to a key file";
