// The steps that both SDKs take at a running Memford. What they see is printed as one line of JSON;
// the Python test beside this folder judges it.

import { readFileSync } from "node:fs";

/** What the test wants done: { url, key, otherProjectId, content, source, checkpointId, era }. */
export function wish() {
  return JSON.parse(readFileSync(0, "utf8"));
}

/** Describe an error as plainly as any host could show it. */
export function describe(error) {
  const cause = error.cause?.message;
  return { name: error.name, code: error.code ?? null, message: error.message, ...(cause ? { cause } : {}) };
}

/** Return the error that a step must end with; `null` where it ended well. */
export async function failureOf(step) {
  try {
    await step();
    return null;
  } catch (error) {
    return describe(error);
  }
}

/** Wrap fetch so that every HTTP status is seen. */
export function watchedFetch(statuses) {
  return async (input, init) => {
    const response = await fetch(input, init);
    statuses.push(`${(init?.method ?? "GET").toUpperCase()} ${response.status}`);
    return response;
  };
}

/** Take all steps with a connected client. `call` calls a tool by name. */
export async function steps(client, call, { otherProjectId, content, source, checkpointId }) {
  const seen = {};
  seen.tools = (await client.listTools()).tools;
  seen.projects = await call("memory_list_projects", {});
  const projectId = seen.projects.structuredContent.projects[0].id;
  const note = { project_id: projectId, content, source, checkpoint_id: checkpointId };
  seen.written = await call("memory_write", note);
  seen.writtenAgain = await call("memory_write", note);
  seen.conflict = await call("memory_write", { ...note, content: "another" });
  seen.blank = await call("memory_write", { project_id: projectId, content: " \r\n" });
  seen.foreign = await call("memory_read", { project_id: otherProjectId });
  seen.page = await call("memory_read", { project_id: projectId });
  seen.badCursor = await call("memory_read", { project_id: projectId, cursor: "made up" });
  seen.resources = (await client.listResources()).resources;
  seen.templates = (await client.listResourceTemplates()).resourceTemplates;
  seen.resource = await client.readResource({ uri: seen.resources[0].uri });
  seen.unknownResource = await failureOf(() =>
    client.readResource({ uri: `memory://projects/${otherProjectId}/notes` }),
  );
  seen.unknownTool = await failureOf(() => call("memory_forget", {}));
  return seen;
}

/** Read, try to write, and read again, as a connection that may only read. */
export async function readOnlySteps(client, call) {
  const seen = {};
  seen.projects = await call("memory_list_projects", {});
  const projectId = seen.projects.structuredContent.projects[0].id;
  seen.writeRefused = await failureOf(() =>
    call("memory_write", { project_id: projectId, content: "not to be stored" }),
  );
  seen.page = await call("memory_read", { project_id: projectId });
  return seen;
}

/** Run a connected client through what was asked for, and print what it saw. */
export async function run({ client, transport, call, facts, asked, statuses }) {
  const seen = {};
  seen.connectFailure = await failureOf(() => client.connect(transport));
  if (seen.connectFailure === null) {
    Object.assign(seen, facts());
    const walk = asked.readOnly ? readOnlySteps : steps;
    Object.assign(seen, await walk(client, call, asked));
    await client.close();
  }
  process.stdout.write(`${JSON.stringify({ ...seen, statuses })}\n`);
}
