; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; Function Attrs: mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite)
define amdgpu_kernel void @histogram(ptr addrspace(1) inreg readonly nocapture %0, ptr addrspace(1) inreg nocapture %1, i32 inreg %2, ptr addrspace(1) inreg readnone nocapture %3, ptr addrspace(1) inreg readnone nocapture %4) local_unnamed_addr #0 !dbg !4 {
  %6 = tail call i32 @llvm.amdgcn.workgroup.id.x(), !dbg !7
  %7 = shl i32 %6, 8, !dbg !8
  %8 = tail call i32 @llvm.amdgcn.workitem.id.x(), !dbg !9
  %9 = and i32 %8, 255, !dbg !9
  %10 = or disjoint i32 %7, %9, !dbg !10
  %11 = icmp slt i32 %10, %2, !dbg !11
  br i1 %11, label %12, label %.critedge, !dbg !12

12:                                               ; preds = %5
  %13 = sext i32 %10 to i64, !dbg !13
  %14 = getelementptr i32, ptr addrspace(1) %0, i64 %13, !dbg !13
  %15 = load <1 x i32>, ptr addrspace(1) %14, align 4, !dbg !12
  %16 = extractelement <1 x i32> %15, i64 0, !dbg !12
  %17 = and i32 %16, 63, !dbg !14
  %18 = zext nneg i32 %17 to i64, !dbg !15
  %19 = getelementptr i32, ptr addrspace(1) %1, i64 %18, !dbg !15
  %20 = atomicrmw add ptr addrspace(1) %19, i32 1 syncscope("agent") acq_rel, align 4, !dbg !16
  br label %.critedge, !dbg !16

.critedge:                                        ; preds = %5, %12
  ret void, !dbg !17
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

attributes #0 = { mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-waves-per-eu"="0, 0" "denormal-fp-math-f32"="ieee" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "triton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "triton_kernels.py", directory: "/kernels")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 1, !"amdhsa_code_object_version", i32 400}
!4 = distinct !DISubprogram(name: "histogram", linkageName: "histogram", scope: !1, file: !1, line: 52, type: !5, scopeLine: 52, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(cc: DW_CC_normal, types: !6)
!6 = !{}
!7 = !DILocation(line: 53, column: 25, scope: !4)
!8 = !DILocation(line: 53, column: 30, scope: !4)
!9 = !DILocation(line: 53, column: 51, scope: !4)
!10 = !DILocation(line: 53, column: 38, scope: !4)
!11 = !DILocation(line: 54, column: 15, scope: !4)
!12 = !DILocation(line: 55, column: 16, scope: !4)
!13 = !DILocation(line: 55, column: 20, scope: !4)
!14 = !DILocation(line: 56, column: 30, scope: !4)
!15 = !DILocation(line: 56, column: 26, scope: !4)
!16 = !DILocation(line: 56, column: 35, scope: !4)
!17 = !DILocation(line: 56, column: 4, scope: !4)
