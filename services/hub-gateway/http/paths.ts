/** Where the hub is asked: queries and mutations, and all operations over sockets. */
export const GRAPHQL_PATH = '/graphql';
export const SOCKET_PATH = '/graphql/ws';
