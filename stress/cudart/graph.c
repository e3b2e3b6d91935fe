/* Graphs: instantiated, launched, destroyed. What is in them was captured.
   Must not know what their nodes do. */
#include "call.h"

static int graph_instantiate(call *self, cudaGraphExec_t *made, cudaGraph_t source, unsigned long long flags)
{
    const graph *found = handles_find(&self->machine->handles, source, HANDLE_GRAPH);
    if (!made || !found || flags > cudaGraphInstantiateFlagUseNodePriority * 2 - 1) {
        return SIM_INVALID_VALUE;
    }
    graph *copy = graph_copy(found);
    void *value = copy ? handles_create(&self->machine->handles, self->machine->runtime_serial, HANDLE_GRAPH_EXEC,
                                        copy) : NULL;
    if (!value) {
        graph_destroy(copy);
        return SIM_OUT_OF_MEMORY;
    }
    *made = value;
    return SIM_SUCCESS;
}

#if CUDART_VERSION >= 12000
CUDART_FUNCTION(cudaGraphInstantiate, (cudaGraphExec_t *made, cudaGraph_t source, unsigned long long flags),
                call_begin(&self, SIM_CALL_GRAPH_INSTANTIATE, 0), graph_instantiate(&self, made, source, flags))
#else
CUDART_EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t source, cudaGraphNode_t *failed,
                                               char *text, size_t bytes)
{
    call self;
    (void)failed;
    if (text && bytes > 0) text[0] = '\0';
    if (call_begin(&self, SIM_CALL_GRAPH_INSTANTIATE, 0)) {
        self.code = graph_instantiate(&self, made, source, 0);
    }
    return call_end(&self);
}
#endif

CUDART_FUNCTION(cudaGraphInstantiateWithFlags, (cudaGraphExec_t *made, cudaGraph_t source, unsigned long long flags),
                call_begin(&self, SIM_CALL_GRAPH_INSTANTIATE, 0), graph_instantiate(&self, made, source, flags))

/* How many nodes there are. They have no handles. */
static int graph_count(const call *self, cudaGraph_t source, const cudaGraphNode_t *nodes, size_t *count)
{
    const graph *found = handles_find(&self->machine->handles, source, HANDLE_GRAPH);
    if (!found || !count || nodes) return found && count ? SIM_NOT_SUPPORTED : SIM_INVALID_VALUE;
    *count = found->count;
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaGraphGetNodes, (cudaGraph_t source, cudaGraphNode_t *nodes, size_t *count),
                call_begin(&self, SIM_CALL_GRAPH_GET_NODES, 0), graph_count(&self, source, nodes, count))

static int graph_launch(call *self, cudaGraphExec_t exec, cudaStream_t stream)
{
    const graph *found = handles_find(&self->machine->handles, exec, HANDLE_GRAPH_EXEC);
    return found ? launch_graph(self->device, found, stream, self->machine->judge.op, "cudaGraphLaunch")
                 : SIM_INVALID_VALUE;
}

CUDART_STREAM_FUNCTION(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream),
                       call_begin(&self, SIM_CALL_GRAPH_LAUNCH, 0) && stream_check(&self, stream),
                       graph_launch(&self, exec, stream))

static int graph_drop(call *self, handle_kind of, const void *value)
{
    graph *found = handles_find(&self->machine->handles, value, of);
    if (!found) return SIM_INVALID_VALUE;
    handles_drop(&self->machine->handles, value);
    graph_destroy(found);
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaGraphDestroy, (cudaGraph_t value), call_begin(&self, SIM_CALL_GRAPH_DESTROY, 0),
                graph_drop(&self, HANDLE_GRAPH, value))
CUDART_FUNCTION(cudaGraphExecDestroy, (cudaGraphExec_t value), call_begin(&self, SIM_CALL_GRAPH_EXEC_DESTROY, 0),
                graph_drop(&self, HANDLE_GRAPH_EXEC, value))
